"""Phase 1: the streams of a plan -> parts of tokens, by several workers, each block once.

Workers are threads: reading, extraction, encoding, hashing and writing release the interpreter's
lock. Each reads a stream of its own, and takes blocks of others when no stream is left, so that one
compressed file feeds all workers. Memory is a few blocks per worker.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from tokenmill._mill.output.parts import Part, PartRecord
from tokenmill._mill.output.work import records
from tokenmill._mill.run.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tokenmill._mill.meter import Meter
    from tokenmill._mill.output.parts import EncodedBlock
    from tokenmill._read import RawBlock, StreamReader
    from tokenmill._read.blocks import Place

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


class Tokenizing:
    """The workers of phase 1.

    `committed` gets each new part and returns whether that is enough. Then `other_work` returns
    what else can be done now: workers prefer it to the next block, but may leave some of it at the
    end. `encode` empties the list that it gets.
    """

    def __init__(
        self,
        folder: Path,
        *,
        streams: int,
        done: dict[int, list[PartRecord]],
        open_stream: Callable[[int, Place | None], StreamReader],
        encode: Callable[[list[RawBlock], int], EncodedBlock],
        committed: Callable[[PartRecord], bool],
        other_work: Callable[[], Sequence[Callable[[], None]]],
        meter: Meter,
        in_order: bool = False,
    ) -> None:
        self._folder = folder
        self._streams = streams
        self._done = done
        self._open_stream = open_stream
        self._encode = encode
        self._report = committed
        self._other_work = other_work
        self._meter = meter
        self._in_order = in_order  # all workers share the first streams
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._over = threading.Condition(lock)  # a worker has ended; for the caller alone
        self._next_stream = 0
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

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        # Not with join(): up to Python 3.12, Ctrl-C in it marks a running thread as ended.
        with self._over:
            while not is_so():
                self._over.wait(0.2)  # with a timeout, so that Ctrl-C is noticed

    def _work(self) -> None:
        with self._changed:
            self._started += 1
        feed: Feed | None = None
        try:
            while (step := self._pick(feed)) is not None:
                if isinstance(step, Feed):
                    feed = step
                    self._step(feed)
                else:
                    step()
        except BaseException as error:
            self._fail(error)
        finally:
            with self._changed:
                self._ended += 1
                self._over.notify_all()

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.stop()

    def _step(self, feed: Feed) -> None:
        with self._meter.stage("read"):
            taken = feed.take()
        with self._changed:
            feed.busy = False
            feed.exhausted = taken is None
            feed.outstanding += taken is not None
            self._retire(feed)
            self._changed.notify_all()
        if taken is None:
            return
        number, raw = taken
        box = [raw]
        del taken, raw  # only the box holds it now, until it is taken out
        encoded = self._encode(box, feed.stream)
        with self._meter.stage("write"):
            written = feed.deliver(number, encoded)
        with self._changed:
            feed.outstanding -= written
            self._retire(feed)
            self._changed.notify_all()

    def _pick(self, last: Feed | None) -> Feed | Callable[[], None] | None:
        """Return work, or a stream whose next block this worker may read; None if all is done.

        A worker stays with its stream, so that none waits for the block of another, and joins those
        of others when no stream is left.
        """
        with self._changed:
            while not self._stopped:
                if self._ready:
                    return self._ready.popleft()
                feed = self._pick_feed(last)
                if feed is not None:
                    feed.busy = True
                    return feed
                if not self._open and not self._committing:
                    return None
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
        while self._next_stream < self._streams:
            number = self._next_stream
            self._next_stream += 1
            done = self._done.get(number, [])
            if done and done[-1].last:
                continue
            feed = Feed(
                self._folder,
                number,
                done,
                partial(self._open_stream, number),
                self._hand_over,
            )
            self._open.append(feed)
            return feed
        return None

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
