"""Batches of texts -> ids with BOS and EOS -> rows, as they arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill._causal.windows import DocumentCutter, StreamCutter, Table
from tokenmill._errors import EncodeError, InvalidUtf8
from tokenmill._pack import frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tokenmill._causal.batches import TextBatch
    from tokenmill._causal.counts import Counts
    from tokenmill._causal.job import Job
    from tokenmill._causal.memory import BatchSize


@dataclass(frozen=True)
class Framed:
    """Ids of documents with BOS and EOS, back to back, and the kept columns of the documents."""

    ids: NDArray[np.uint32]
    lengths: NDArray[np.int64]
    kept: pa.Table | None = None


@dataclass(frozen=True)
class CausalRows:
    """Rows of ids, and the kept columns of each row."""

    table: Table
    kept: pa.Table | None = None

    def __len__(self) -> int:
        return len(self.table)

    def some(self, begin: int, end: int) -> CausalRows:
        """Return rows `begin` to `end`."""
        kept = None if self.kept is None else self.kept.slice(begin, end - begin)
        return CausalRows(self.table.some_rows(begin, end), kept)


def encode_batches(
    job: Job, batches: Iterable[TextBatch], size: BatchSize, counts: Counts
) -> Iterator[Framed]:
    """Encode batch after batch; if memory is refused, in smaller ones."""
    for batch in batches:
        counts.text_bytes += int(pc.sum(pc.binary_length(batch.texts)).as_py() or 0)
        for framed in _encode(job, batch, size):
            counts.documents += len(framed.lengths)
            counts.tokens += len(framed.ids)
            yield framed


def cut_rows(job: Job, batches: Iterable[Framed], counts: Counts) -> Iterator[CausalRows]:
    """Cut ids into rows as they arrive; stop after `max_rows`."""
    found = _packed(job, batches, counts) if job.options.pack else _apart(job, batches, counts)
    for rows in found:
        taken = _within_limit(rows, counts, job.options.max_rows)
        if len(taken):
            counts.rows += len(taken)
            if job.options.tail == "pad":
                counts.padding += int(taken.table.ids.size - taken.table.lengths.sum())
            yield taken
        if counts.is_cut:
            return


def regroup(rows: Iterable[CausalRows], size: int, width: int) -> Iterator[CausalRows]:
    """Collect rows until there are `size` of them, in one piece of memory.

    Full rows and rows with padding are kept in different groups: the labels of a group of full
    rows can be its ids.
    """
    buffer = np.empty((size, width), np.int32)
    waiting: list[CausalRows] = []
    count = 0
    for more in rows:
        if waiting and more.table.is_full != waiting[-1].table.is_full:
            yield _joined(waiting, buffer[:count])
            waiting, count, buffer = [], 0, np.empty((size, width), np.int32)
        begin = 0
        while begin < len(more):
            some = more.some(begin, min(len(more), begin + size - count))
            waiting.append(_moved(some, buffer[count:]))
            count += len(some)
            begin += len(some)
            if count == size:
                yield _joined(waiting, buffer)
                waiting, count, buffer = [], 0, np.empty((size, width), np.int32)
    if waiting:
        yield _joined(waiting, buffer[:count])


def _encode(job: Job, batch: TextBatch, size: BatchSize) -> Iterator[Framed]:
    if len(batch) == 0:
        return
    try:
        ids, offsets = job.encoder.encode(batch.texts)
    except MemoryError:
        if len(batch) == 1:
            raise
        size.halve()
        middle = len(batch) // 2
        yield from _encode(job, batch.some(0, middle), size)
        yield from _encode(job, batch.some(middle, len(batch)), size)
        return
    except EncodeError as error:
        raise _renumbered(error, batch.rows) from None
    before = [] if job.bos_id is None else [job.bos_id]
    after = [] if job.eos_id is None else [job.eos_id]
    framed, lengths = frame(ids, offsets, before, after)
    yield Framed(framed, lengths, batch.kept)


def _renumbered(error: EncodeError, rows: NDArray[np.int64]) -> EncodeError:
    """Name the row of the dataset instead of the place in its batch."""
    if error.document is None:
        return error
    hint = "repair or remove the row first" if isinstance(error, InvalidUtf8) else None
    return error.renumbered(int(rows[error.document]), hint)


def _packed(job: Job, batches: Iterable[Framed], counts: Counts) -> Iterator[CausalRows]:
    cutter = StreamCutter(job.shape)
    for batch in batches:
        for table in cutter.feed(batch.ids.astype(np.uint32, copy=False)):
            yield CausalRows(table)
    yield CausalRows(cutter.finish())
    counts.dropped = cutter.dropped


def _apart(job: Job, batches: Iterable[Framed], counts: Counts) -> Iterator[CausalRows]:
    cutter = DocumentCutter(job.shape)
    for batch in batches:
        for table in cutter.feed(batch.ids.astype(np.uint32, copy=False), batch.lengths):
            counts.dropped = cutter.dropped
            kept = None if batch.kept is None else batch.kept.take(pa.array(table.documents))
            yield CausalRows(table, kept)
        counts.dropped = cutter.dropped  # also of a batch without a row


def _within_limit(rows: CausalRows, counts: Counts, limit: int | None) -> CausalRows:
    if limit is None or counts.rows + len(rows) < limit:
        return rows
    counts.is_cut = True
    return rows.some(0, limit - counts.rows)


def _moved(rows: CausalRows, place: NDArray[np.int32]) -> CausalRows:
    """Copy ids to their place in a group; everything else in rows is small."""
    table = rows.table
    place[: len(rows)] = table.ids
    return CausalRows(Table(place[: len(rows)], table.lengths, table.repeats), rows.kept)


def _joined(many: Sequence[CausalRows], ids: NDArray[np.int32]) -> CausalRows:
    tables = [rows.table for rows in many]
    table = Table(
        ids,
        np.concatenate([table.lengths for table in tables]),
        np.concatenate([table.repeats for table in tables]),
    )
    kept = [rows.kept for rows in many if rows.kept is not None]
    return CausalRows(table, pa.concat_tables(kept) if kept else None)
