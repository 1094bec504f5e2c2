"""Phase 1: the streams of a plan -> parts of tokens, by several workers, each block once.

Workers are threads: reading, extraction, encoding, hashing and writing release the interpreter's
lock. Each reads a stream of its own, and takes blocks of others when no stream is left, so that one
compressed file feeds all workers. Memory is a few blocks per worker.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from tokenmill._mill.output.parts import Part, PartRecord
from tokenmill._mill.output.work import records
from tokenmill._mill.run.feed import Feed
from tokenmill._timeline import add_bytes, stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._mill.meter import Meter
    from tokenmill._mill.output.kept_ids import KeptIds
    from tokenmill._mill.output.parts import EncodedBlock
    from tokenmill._read import RawBlock, StreamReader
    from tokenmill._read.blocks import Place

    LendMemory = Callable[[], AbstractContextManager[NDArray[np.uint8] | None]]
    NextStream = Callable[[], tuple[int, list[PartRecord]] | "Later" | None]

_AHEAD = 3  # blocks of one stream that may wait for an earlier one, per worker
_MOST_COMMITS = 4  # at once: the disk works on all of them


def finished_parts(folder: Path, dtype: str) -> dict[int, list[PartRecord]]:
    """Return the parts that earlier runs committed, by stream, up to the first gap."""
    found: dict[int, list[PartRecord]] = {}
    for value in records(folder):
        try:
            record = PartRecord(**value)
        except TypeError:  # of another version: its part is made again
            continue
        parts = found.setdefault(record.stream, [])
        if record.part == len(parts) and Part(folder, record, dtype).is_whole():
            parts.append(record)
    return found


def unfinished_streams(
    count: int, done: dict[int, list[PartRecord]]
) -> Iterator[tuple[int, list[PartRecord]]]:
    """Yield the streams that are not read to their end, each with the parts that it has."""
    for number in range(count):
        parts = done.get(number, [])
        if not (parts and parts[-1].last):
            yield number, parts


def parts_of_stream(read: Callable[[int, int], PartRecord | None], stream: int) -> list[PartRecord]:
    """Return the parts of one stream that are committed, up to the first gap."""
    parts: list[PartRecord] = []
    while not (parts and parts[-1].last):
        record = read(stream, len(parts))
        if record is None:
            break
        parts.append(record)
    return parts


class Later(Enum):
    """Instead of a stream: there is none now, and perhaps one after `wake`."""

    LATER = "later"


class Tokenizing:
    """The workers of phase 1.

    `next_stream` returns a stream to read and the parts that it has, or LATER; after None it is not
    called again. `committed` gets each new part and returns whether that is enough. Then
    `other_work` returns what else can be done now: workers prefer it to the next block, but may
    leave some of it at the end. `encode` empties the list that it gets. `lend_memory` may have
    memory that a block is read into, until it is encoded.
    """

    def __init__(
        self,
        folder: Path,
        *,
        next_stream: NextStream,
        open_stream: Callable[[int, Place | None], StreamReader],
        encode: Callable[[list[RawBlock], int], EncodedBlock],
        committed: Callable[[PartRecord], bool],
        other_work: Callable[[], Sequence[Callable[[], None]]],
        meter: Meter,
        in_order: bool = False,
        kept: KeptIds | None = None,
        lend_memory: LendMemory = nullcontext,
    ) -> None:
        self._lend_memory = lend_memory
        self._folder = folder
        self._next_stream = next_stream
        self._has_streams = True
        self._open_stream = open_stream
        self._encode = encode
        self._report = committed
        self._other_work = other_work
        self._meter = meter
        self._kept = kept
        # All workers share the first streams: little is made that waits for something before it.
        self._in_order = in_order or kept is not None
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._over = threading.Condition(lock)  # a worker has ended; for the caller alone
        self._open: list[Feed] = []
        self._ready = deque(other_work())
        self._committing = 0  # parts
        self._started = self._ended = 0  # workers
        self._stopped = False
        self._error: BaseException | None = None
        self._ahead = _AHEAD
        self._commits: ThreadPoolExecutor

    def run(self, workers: int) -> None:
        """Tokenize everything that is missing; raise the first error of any worker."""
        self._ahead = _AHEAD * workers
        # Not daemons: if a second Ctrl-C interrupts the wait, Python must still join them at exit,
        # because a thread that returns from the engine later would end the process with SIGABRT.
        threads = [threading.Thread(target=self._work) for _ in range(workers)]
        with ThreadPoolExecutor(min(workers, _MOST_COMMITS)) as self._commits:
            try:
                for thread in threads:
                    thread.start()
                self._wait_until(lambda: self._ended == workers)
            except BaseException:
                self.stop()
                # A worker that had not started when Ctrl-C came finds nothing to do.
                self._wait_until(lambda: self._ended == self._started)
                raise
            finally:
                for feed in self._open:
                    feed.close()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Let workers finish their current block, and take no other."""
        self._stopped = True  # first: waiting for the lock may be interrupted
        with self._changed:
            self._changed.notify_all()

    def wake(self) -> None:
        """Let workers ask for streams again, which have come after LATER."""
        with self._changed:
            self._changed.notify_all()

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        # Not with join(): up to Python 3.12, Ctrl-C in it marks a running thread as ended.
        with self._over:
            while not is_so():
                self._over.wait(0.2)  # with a timeout, so that Ctrl-C is noticed

    def _work(self) -> None:
        with self._changed:
            self._started += 1
        try:
            with self._meter.worker():
                self._do_all()
        except BaseException as error:
            self._fail(error)
        finally:
            with self._changed:
                self._ended += 1
                self._over.notify_all()

    def _do_all(self) -> None:
        feed: Feed | None = None
        while (step := self._pick(feed)) is not None:
            if isinstance(step, Feed):
                feed = step
                self._step(feed)
            else:
                step()

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.stop()

    def _step(self, feed: Feed) -> None:
        with self._lend_memory() as memory:
            found = self._encode_next(feed, memory)
        if found is None:
            return
        number, encoded = found
        with stage("write"):
            written = feed.deliver(number, encoded)
        with stage("wait_input"), self._changed:
            feed.outstanding -= written
            self._retire(feed)
            self._changed.notify_all()

    def _encode_next(
        self, feed: Feed, memory: NDArray[np.uint8] | None
    ) -> tuple[int, EncodedBlock] | None:
        """Read and encode the next block of a stream; nothing of the result is in `memory`."""
        with stage("read"):
            taken = feed.take(memory)
        add_bytes("read", 0 if taken is None else taken[1].input_bytes)
        with stage("wait_input"), self._changed:
            feed.busy = False
            feed.exhausted = taken is None
            feed.outstanding += taken is not None
            self._retire(feed)
            self._changed.notify_all()
        if taken is None:
            return None
        number, raw = taken
        box = [raw]
        del taken, raw  # only the box holds it now, until it is taken out
        return number, self._encode(box, feed.stream)

    def _pick(self, last: Feed | None) -> Feed | Callable[[], None] | None:
        """Return work, or a stream whose next block this worker may read; None if all is done.

        A worker stays with its stream, so that none waits for the block of another, and joins those
        of others when no stream is left.
        """
        with stage("wait_input"), self._changed:
            while not self._stopped:
                if self._ready:
                    return self._ready.popleft()
                feed = self._pick_feed(last)
                if feed is not None:
                    feed.busy = True
                    return feed
                if not (self._open or self._committing or self._has_streams):
                    return None
                # With all blocks read and encoded, only the disk is left to wait for.
                with stage("wait_input" if self._open else "wait_output"):
                    self._changed.wait()
            return None

    def _pick_feed(self, last: Feed | None) -> Feed | None:
        if not self._in_order:
            if last is not None and self._is_free(last):
                return last
            if (opened := self._open_next()) is not None:
                return opened
        free = next(filter(self._is_free, self._open), None)
        return free or self._open_next()

    def _is_free(self, feed: Feed) -> bool:
        return not feed.busy and not feed.exhausted and feed.outstanding < self._ahead

    def _open_next(self) -> Feed | None:
        found = self._next_stream() if self._has_streams else None
        if found is None or found is Later.LATER:
            self._has_streams = found is Later.LATER
            return None
        number, done = found
        feed = Feed(
            self._folder,
            number,
            done,
            partial(self._open_stream, number),
            self._hand_over,
            kept=self._kept,
        )
        self._open.append(feed)
        return feed

    def _hand_over(self, commit: Callable[[], PartRecord]) -> None:
        """Let a part be put on the disk while this worker continues."""
        with self._changed:
            self._committing += 1
        self._commits.submit(self._commit, commit)

    def _commit(self, commit: Callable[[], PartRecord]) -> None:
        work: Sequence[Callable[[], None]] = ()
        try:
            if self._report(commit()):
                self.stop()
            work = self._other_work()
        except BaseException as error:
            self._fail(error)
        finally:
            with self._changed:
                self._ready += work
                self._committing -= 1
                self._changed.notify_all()

    def _retire(self, feed: Feed) -> None:
        if feed.exhausted and feed.outstanding == 0 and feed in self._open:
            feed.close()
            self._open.remove(feed)
