"""New connections of one listening socket, shared out evenly between worker processes.

The kernel gives a connection to whichever process asks first, and an event loop takes as many as
there are: of eight connections, one of two workers often got all, and half of the machine idled
(1,700 requests/s instead of 2,500; log 2026-11-18). Here a worker takes one at a time, and one that
has more than another lets it go first.

Clients keep their connections. When a worker comes back from the dead, they all are with the
others, and would stay there; so a worker that has too many ends some after their answers.
"""

from __future__ import annotations

import asyncio
import errno
import mmap
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

TCP = (socket.AF_INET, socket.AF_INET6)
_STEP_BACK = 0.0005  # seconds in which the others may take a connection
_NO_FILES = (errno.EMFILE, errno.ENFILE)
_NO_FILE_PAUSE = 0.1
_GONE = 1 << 40  # of a worker that is not there
_UNEVEN = 1 / 8  # of its connections: a worker with so many above its share ends some


class Shares:
    """How many connections each worker has, in memory that they share."""

    def __init__(self, workers: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, 8 * workers)).cast("q")
        for row in range(workers):
            self.leave(row)

    def leave(self, row: int) -> None:
        """Take a worker out: nobody waits for it."""
        self._counts[row] = _GONE

    def note(self, row: int, count: int) -> None:
        """Write down what a worker has."""
        self._counts[row] = count

    def is_ahead(self, row: int) -> bool:
        """Whether another worker has fewer."""
        return self._counts[row] > min(self._counts)

    def surplus(self, row: int) -> int:
        """Return how many a worker has above its share; 0 while the workers are nearly even."""
        counts = [count for count in self._counts if count < _GONE]
        own = self._counts[row]
        above = own - -(-sum(counts) // len(counts)) if counts else 0
        return above if above > own * _UNEVEN else 0


class Acceptor:
    """Takes connections of one socket for one worker."""

    def __init__(
        self,
        listening: socket.socket,
        make: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
        is_ahead: Callable[[], bool],
    ) -> None:
        self._listening = listening
        self._make = make
        self._tls = tls
        self._is_ahead = is_ahead
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._loop.add_reader(listening, self._look)

    def close(self) -> None:
        """Take no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def _look(self) -> None:
        """Take a connection, or let another worker do it."""
        if self._is_ahead():
            self._step_back(_STEP_BACK)
        else:
            self._take()

    def _step_back(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._timer = self._loop.call_later(seconds, self._take_anyway)

    def _take_anyway(self) -> None:
        self._timer = None
        self._loop.add_reader(self._listening, self._look)
        self._take()

    def _take(self) -> None:
        try:
            made, _ = self._listening.accept()
        except OSError as error:  # another worker was first, or the client is gone
            if error.errno in _NO_FILES:  # at once, it would fail again
                self._step_back(_NO_FILE_PAUSE)
            return
        made.setblocking(False)
        if made.family in TCP:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self._loop.create_task(
            self._loop.connect_accepted_socket(self._make, made, ssl=self._tls)
        )
        self._tasks.add(task)
        task.add_done_callback(self._connected)

    def _connected(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # a failed handshake is the client's affair
