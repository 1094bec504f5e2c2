"""Phase 1: the streams of a plan -> parts of tokens, by several workers, each block once.

Workers are threads: reading, extraction, encoding, hashing and writing release the interpreter's
lock. Each takes the next block of the first stream that no other worker is reading. So one
compressed file feeds all workers, streams are finished in order, and memory is a few blocks per
worker.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from tokenmill._mill.output.parts import Part, PartRecord
from tokenmill._mill.output.work import records
from tokenmill._mill.run.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokenmill._mill.meter import Meter
    from tokenmill._mill.output.parts import EncodedBlock
    from tokenmill._read import RawBlock, StreamReader
    from tokenmill._read.blocks import Place

_AHEAD = 3  # blocks of one stream that may wait for an earlier one, per worker


def finished_parts(folder: Path, dtype: str) -> dict[int, list[PartRecord]]:
    """Return the parts that earlier runs committed, by stream, up to the first gap."""
    found: dict[int, list[PartRecord]] = {}
    for value in records(folder):
        record = PartRecord(**value)
        parts = found.setdefault(record.stream, [])
        if record.part == len(parts) and Part(folder, record, dtype).is_whole():
            parts.append(record)
    return found


class Tokenizing:
    """The workers of phase 1. `committed` gets each new part and returns whether that is enough."""

    def __init__(
        self,
        folder: Path,
        *,
        streams: int,
        done: dict[int, list[PartRecord]],
        open_stream: Callable[[int, Place | None], StreamReader],
        encode: Callable[[RawBlock, int], EncodedBlock],
        committed: Callable[[PartRecord], bool],
        meter: Meter,
    ) -> None:
        self._folder = folder
        self._streams = streams
        self._done = done
        self._open_stream = open_stream
        self._encode = encode
        self._report = committed
        self._meter = meter
        self._changed = threading.Condition()
        self._next_stream = 0
        self._open: list[Feed] = []
        self._started = self._ended = 0  # workers
        self._stopped = False
        self._error: BaseException | None = None
        self._ahead = _AHEAD

    def run(self, workers: int) -> None:
        """Tokenize everything that is missing; raise the first error of any worker."""
        self._ahead = _AHEAD * workers
        # Not daemons: if a second Ctrl-C interrupts the wait, Python must still join them at exit,
        # because a thread that returns from the engine later would end the process with SIGABRT.
        threads = [threading.Thread(target=self._work) for _ in range(workers)]
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
        with self._changed:
            while not is_so():
                self._changed.wait(0.2)  # with a timeout, so that Ctrl-C is noticed

    def _work(self) -> None:
        with self._changed:
            self._started += 1
        try:
            while (feed := self._pick()) is not None:
                self._step(feed)
        except BaseException as error:
            self._error = self._error or error
            self.stop()
        finally:
            with self._changed:
                self._ended += 1
                self._changed.notify_all()

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
        encoded = self._encode(raw, feed.stream)
        with self._meter.stage("write"):
            written = feed.deliver(number, encoded)
        with self._changed:
            feed.outstanding -= written
            self._retire(feed)
            self._changed.notify_all()

    def _pick(self) -> Feed | None:
        """Return a stream whose next block this worker may read; None if there are none left."""
        with self._changed:
            while not self._stopped:
                for feed in self._open:
                    if not feed.busy and not feed.exhausted and feed.outstanding < self._ahead:
                        feed.busy = True
                        return feed
                if (opened := self._open_next()) is not None:
                    opened.busy = True
                    return opened
                if not self._open:
                    return None
                self._changed.wait()
            return None

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
                self._committed,
            )
            self._open.append(feed)
            return feed
        return None

    def _committed(self, record: PartRecord) -> None:
        self._done.setdefault(record.stream, []).append(record)
        if self._report(record):
            self.stop()

    def _retire(self, feed: Feed) -> None:
        if feed.exhausted and feed.outstanding == 0 and feed in self._open:
            feed.close()
            self._open.remove(feed)
