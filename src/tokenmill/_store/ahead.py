"""Ranges of objects that are requested before they are read: several at once, in bounded memory.

One `Ahead` serves all streams of a process. Who reads takes ranges by name; who knows what will be
read promises them. A range that nobody promised is fetched when it is taken.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tokenmill._platform.processes import after_fork
from tokenmill._store.objects import get
from tokenmill._store.sizes import IN_FLIGHT, RANGE_BYTES

if TYPE_CHECKING:
    from tokenmill._store.address import Address

_THREADS = 64


@dataclass(frozen=True)
class ByteRange:
    """The bytes from `begin` to before `end` of one version of an object."""

    address: Address
    tag: str
    begin: int
    end: int


def cut(address: Address, tag: str, begin: int, end: int) -> list[ByteRange]:
    """Divide a part of an object at multiples of RANGE_BYTES: the same ones for all who ask."""
    inner = range((begin // RANGE_BYTES + 1) * RANGE_BYTES, end, RANGE_BYTES)
    edges = [begin, *inner, end] if begin < end else []
    return [ByteRange(address, tag, a, b) for a, b in pairwise(edges)]


class _Promise:
    """A range that is on its way; `stop` ends the attempts to fetch it."""

    def __init__(self, wanted: ByteRange, threads: ThreadPoolExecutor) -> None:
        self.size = wanted.end - wanted.begin
        self._stop = threading.Event()
        self.future: Future[memoryview] = threads.submit(_fetch, wanted, self._stop)

    @property
    def has_failed(self) -> bool:
        """Whether it could not be fetched; perhaps it can now."""
        return self.future.done() and self.future.exception() is not None

    def withdraw(self) -> None:
        """Let nobody work on it any more."""
        self._stop.set()
        self.future.cancel()


class Ahead:
    """Requests on threads of its own, by the range that they are for.

    A reader promises what it will take itself, and bounds that. Others guess what will be read
    next: of guesses that nobody comes for, because another rank reads them, the oldest are dropped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._promised: dict[ByteRange, _Promise] = {}
        self._guessed: dict[ByteRange, int] = {}  # their sizes, the oldest first
        self._readers = 0
        self._abandoned: deque[list[ByteRange]] = deque()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="store")

    def add_reader(self, number: int = 1) -> None:
        """Count the readers that are open: guesses are for them."""
        with self._lock:
            self._readers += number

    def abandon(self, ranges: list[ByteRange]) -> None:
        """Note that a reader with these promises is gone.

        The garbage collector calls this at any moment, even while this thread holds the lock.
        """
        self._abandoned.append(ranges)

    def promise(self, wanted: ByteRange) -> None:
        """Request a range that the caller will take soon."""
        self._sweep()
        with self._lock:
            self._guessed.pop(wanted, None)
            self._request(wanted)

    def guess(self, wanted: ByteRange) -> None:
        """Request a range that somebody will probably take."""
        self._sweep()
        with self._lock:
            if wanted in self._promised:
                return
            self._request(wanted)
            self._guessed[wanted] = wanted.end - wanted.begin
            most = (self._readers + 2) * IN_FLIGHT * RANGE_BYTES
            while sum(self._guessed.values()) > most and len(self._guessed) > 1:
                self._drop(next(iter(self._guessed))).withdraw()

    def take(self, wanted: ByteRange) -> memoryview:
        """Return the bytes of a range, and forget it; waits if they are not here yet."""
        with self._lock:
            promise = self._drop(wanted) if wanted in self._promised else None
        if promise is None or promise.has_failed:
            return _fetch(wanted)
        return promise.future.result()

    def withdraw(self, ranges: list[ByteRange]) -> None:
        """Give up promised ranges that will not be taken."""
        with self._lock:
            dropped = [self._drop(each) for each in ranges if each in self._promised]
        for promise in dropped:
            promise.withdraw()

    @property
    def held_bytes(self) -> int:
        """The size of all ranges that were requested and not taken."""
        with self._lock:
            return sum(promise.size for promise in self._promised.values())

    def _sweep(self) -> None:
        with contextlib.suppress(IndexError):  # no more of them
            while True:
                self.withdraw(self._abandoned.popleft())
                self.add_reader(-1)

    def _request(self, wanted: ByteRange) -> None:
        """Request a range once; a failed request is made again, for who comes later."""
        there = self._promised.get(wanted)
        if there is not None and not there.has_failed:
            return
        self._promised[wanted] = _Promise(wanted, self._threads)

    def _drop(self, old: ByteRange) -> _Promise:
        self._guessed.pop(old, None)
        return self._promised.pop(old)


def _fetch(wanted: ByteRange, stop: threading.Event | None = None) -> memoryview:
    return get(wanted.address, wanted.begin, wanted.end, tag=wanted.tag, stop=stop)


_shared: list[Ahead] = []
_making = threading.Lock()


def shared_ahead() -> Ahead:
    """Return the one of this process; threads start with the first promise."""
    with _making:
        if not _shared:
            _shared.append(Ahead())
        return _shared[0]


def _after_fork() -> None:
    global _making  # noqa: PLW0603 -- another thread of the parent may hold it
    _making = threading.Lock()
    _shared.clear()


after_fork(_after_fork)
