"""A stream read by many workers: blocks are taken one by one, and results written in order.

A worker takes the next raw block (the scheduler lets one worker read at a time), works on it alone,
and delivers the result here. Results are written in the order in which blocks were taken, by the
worker that delivers the missing one. A full part is handed on to be put on the disk by somebody
else, because workers must not wait for a disk.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from tokenmill._mill.output.parts import EncodedBlock, PartRecord, PartWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._mill.output.kept_ids import KeptIds
    from tokenmill._read import RawBlock, StreamReader
    from tokenmill._read.blocks import Place

PART_BYTES = 64 << 20  # of text per stream: what a killed run may have to do again


class Feed:
    """One stream of the plan, from where an earlier run stopped."""

    def __init__(
        self,
        folder: Path,
        stream: int,
        done: list[PartRecord],
        open_at: Callable[[Place | None], StreamReader],
        commit: Callable[[Callable[[], PartRecord]], None],
        *,
        kept: KeptIds | None = None,
    ) -> None:
        self.stream = stream
        self.busy = False  # a worker is reading: guarded by the scheduler
        self.outstanding = 0  # blocks taken and not yet written: guarded by the scheduler
        self.exhausted = False
        self._folder = folder
        self._open_at = open_at
        self._reader: StreamReader | None = None
        self._start = done[-1].place if done else None
        self._part = len(done)
        self._commit = commit
        self._kept = kept
        self._lock = threading.Lock()
        self._writing = False
        self._writer: PartWriter | None = None
        self._taken = 0
        self._written = 0
        self._waiting: dict[int, EncodedBlock] = {}

    def take(self, memory: NDArray[np.uint8] | None = None) -> tuple[int, RawBlock] | None:
        """Return the next raw block and its number; None after the last. One caller at a time.

        It is in `memory`, if that is given and the file can be read into it.
        """
        if self._reader is None:
            self._reader = self._open_at(self._start)
        raw = self._reader.read(memory)
        if raw is None:
            return None
        self._taken += 1
        return self._taken - 1, raw

    def deliver(self, number: int, encoded: EncodedBlock) -> int:
        """Deliver a result; return how many blocks were written because of it."""
        with self._lock:
            self._waiting[number] = encoded
            if self._writing:  # that worker will write this one too
                return 0
            self._writing = True
        written = 0
        while (block := self._next()) is not None:
            self._write(block)
            written += 1
        return written

    def _next(self) -> EncodedBlock | None:
        with self._lock:
            block = self._waiting.pop(self._written, None)
            if block is None:
                self._writing = False
            else:
                self._written += 1
            return block

    def _write(self, encoded: EncodedBlock) -> None:
        if self._writer is None:
            self._writer = PartWriter(self._folder, self.stream, self._part, self._kept)
        self._writer.add(encoded)
        block = encoded.block
        if block.ends_stream or self._writer.text_bytes >= PART_BYTES:
            writer, self._writer = self._writer, None
            self._part += 1
            self._commit(
                partial(writer.commit, block.after, block.segment_lines, last=block.ends_stream)
            )

    def close(self) -> None:
        """Close the input and leave nothing unfinished."""
        if self._reader is not None:
            self._reader.close()
        if self._writer is not None:
            self._writer.discard()
            self._writer = None
