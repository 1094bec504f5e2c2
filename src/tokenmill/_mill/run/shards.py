"""Phase 2: the ordered documents of a split -> shards, independent of each other, in every format.

Token counts are known, so a shard is a range of the ordered tokens, and any worker can make it
without the others. `concat` cuts the whole stream of tokens into rows; the other strategies pack
the documents that start in the range of the shard.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._mill.output.shard_records import (
    ShardFile,
    ShardRecord,
    keep_record,
    placed,
    read_record,
    shard_record,
)
from tokenmill._mill.output.work import INDEX
from tokenmill._mill.run.collect import Collector
from tokenmill._mill.run.order import PartRun
from tokenmill._pack import concat_rows, concat_shape
from tokenmill._pack.rows import Pieces, Rows, ShardShape
from tokenmill._timeline import add_bytes, stage
from tokenmill._write import Extras, find_format, index_name, write_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tokenmill._mill.meter import Meter
    from tokenmill._mill.output.kept_ids import KeptIds
    from tokenmill._mill.output.parts import Part
    from tokenmill._mill.output.work import Work
    from tokenmill._mill.plan.settings import Settings
    from tokenmill._mill.run.order import Documents, Ordered
    from tokenmill._write import ShardWriter

_BATCH_TOKENS = 1 << 20  # gathered at once


class Sharding:
    """The shards of one split: what each holds, and how to make it."""

    def __init__(
        self,
        settings: Settings,
        split: str,
        ordered: Ordered,
        parts: list[Part],
        *,
        work: Work,
        extras: Extras,
        kept: KeptIds | None = None,
    ) -> None:
        self._kept = kept
        self._settings = settings
        self.split = split
        self._ordered = ordered
        self._parts = parts
        self._work = work
        self._extras = extras
        self._last_rows: int | None = None  # of the last shard, if max_sequences limits it
        self.tokens = ordered.tokens
        self.count = self._count()

    def _count(self) -> int:
        """Count the shards; with `max_sequences`, by packing shards until there are enough rows."""
        settings = self._settings
        if settings.pack == "concat":
            return -(-self.concat_rows // self._rows_per_shard)
        shards = -(-self._ordered.tokens // settings.shard_tokens)
        if settings.max_sequences is None:
            return shards
        left = settings.max_sequences
        for number in range(shards):
            rows = self.plan(number)[1].rows
            if rows >= left:
                self._last_rows = left
                return number + 1
            left -= rows
        return shards

    def append(self, part: Part) -> None:
        """Add the documents of a part after all others."""
        self._ordered.append(PartRun(part, len(self._parts), self._ordered.documents))
        self._parts.append(part)
        self.tokens = self._ordered.tokens
        self.count = self._count()

    @property
    def complete_count(self) -> int:
        """How many shards stay as they are, whatever documents come later."""
        s = self._settings
        if s.pack != "concat":
            return self._ordered.tokens // s.shard_tokens
        assert s.context_length is not None  # noqa: S101
        full_rows = (self._ordered.tokens - s.overlap) // (s.context_length - s.overlap)
        return max(full_rows, 0) // self._rows_per_shard

    def first_token(self, number: int) -> int:
        """Return the place before which a shard and later ones need no token."""
        s = self._settings
        if s.pack != "concat":
            return number * s.shard_tokens
        assert s.context_length is not None  # noqa: S101
        return number * self._rows_per_shard * (s.context_length - s.overlap)

    def is_covered(self, begin: int, end: int) -> bool:
        """Return whether an earlier run finished all shards with the tokens from begin to end."""
        span = self.first_token(1)
        # One shard earlier too: its last row may overlap.
        numbers = range(max(begin // span - 1, 0), -(-end // span))
        return all(self.record_of(number) is not None for number in numbers)

    @property
    def concat_rows(self) -> int:
        """How many rows the whole stream has."""
        s = self._settings
        assert s.context_length is not None  # noqa: S101 -- settings see to it
        rows = concat_shape(self._ordered.tokens, s.context_length, s.overlap, tail=s.tail).rows
        return rows if s.max_sequences is None else min(rows, s.max_sequences)

    @property
    def _rows_per_shard(self) -> int:
        assert self._settings.context_length is not None  # noqa: S101
        return max(1, self._settings.shard_tokens // self._settings.context_length)

    def plan(self, number: int) -> tuple[Documents, Pieces, int]:
        """Return a shard's documents, its pieces, and how many documents start in it."""
        s = self._settings
        if s.pack == "concat":
            return self._plan_concat(number)
        begin = number * s.shard_tokens
        documents = self._ordered.starting_between(begin, begin + s.shard_tokens)
        pieces = s.packer().pack(documents.length)
        return documents, pieces, _count_different(pieces.documents, len(documents))

    def _plan_concat(self, number: int) -> tuple[Documents, Pieces, int]:
        s = self._settings
        assert s.context_length is not None  # noqa: S101
        stride = s.context_length - s.overlap
        first = number * self._rows_per_shard
        last = min(first + self._rows_per_shard, self.concat_rows)
        end = (last - 1) * stride + s.context_length
        documents, start = self._ordered.between(first * stride, end)
        pieces = concat_rows(documents.length, start, first, last, s.context_length, s.overlap)
        # A document belongs to the shard that holds its first token first.
        own = first * stride + (s.overlap if first else 0)
        starts = start + np.cumsum(documents.length) - documents.length
        return documents, pieces, int((starts >= own).sum())

    def record_of(self, number: int) -> ShardRecord | None:
        """Return the record of a shard that an earlier run finished."""
        return read_record(self._work, self.split, number)

    def make(
        self, number: int, meter: Meter, then: Callable[[], None] | None = None
    ) -> ShardRecord:
        """Write a shard in all formats, then its index, then its record; `then` is after that."""
        with stage("pack"):
            documents, pieces, began = self.plan(number)
            if number == self.count - 1:
                pieces, began = self._limit_rows(pieces, began)
        # A shard without rows, inside one long document, has no files: many readers refuse them.
        writers = self._open_writers(number, self._shape(pieces)) if pieces.rows else {}
        try:
            if not self._copy(writers, documents, pieces, meter):
                for rows in self._batches(documents, pieces):
                    with stage("write"):
                        for writer in writers.values():
                            writer.write(rows)
                    meter.add(packed_tokens=len(rows.ids))
            with stage("write"):
                files = self._commit(number, writers, documents, pieces) if pieces.rows else []
        except BaseException:
            for writer in writers.values():
                writer.discard()
            raise
        record = self._record(number, pieces, began, writers, files)
        with stage("wait_output"):
            keep_record(self._work, record, then)
        return record

    def _limit_rows(self, pieces: Pieces, began: int) -> tuple[Pieces, int]:
        """Keep the rows that max_sequences allows; the tokens of the others are dropped."""
        if self._last_rows is None or pieces.rows <= self._last_rows:
            return pieces, began
        kept = int(pieces.row_pieces[self._last_rows])
        cut = Pieces(
            pieces.documents[:kept],
            pieces.begins[:kept],
            pieces.lengths[:kept],
            pieces.row_pieces[: self._last_rows + 1],
            pieces.dropped + int(pieces.lengths[kept:].sum()),
            pieces.repeated,
        )
        return cut, len(np.unique(cut.documents))

    @property
    def reason_left_out(self) -> str:
        """Why documents of the split are in no row."""
        if self._settings.max_sequences is not None:
            return "max_sequences"
        return "tail" if self._settings.pack == "concat" else "no_row"

    def left_out(self, records: Sequence[ShardRecord]) -> tuple[int, int]:
        """Return the documents that are in no row, and the tokens that no shard has taken."""
        documents = self._ordered.documents - sum(record.documents for record in records)
        return documents, self._ordered.tokens - self._seen_tokens()

    def _seen_tokens(self) -> int:
        """Return how many of the ordered tokens the shards have taken or dropped."""
        s = self._settings
        if self.count == 0:
            return 0
        if s.pack == "concat":
            assert s.context_length is not None  # noqa: S101
            end = (self.concat_rows - 1) * (s.context_length - s.overlap) + s.context_length
            return min(end, self._ordered.tokens)
        border = self.count * s.shard_tokens
        if border >= self._ordered.tokens:
            return self._ordered.tokens
        last, begin = self._ordered.between(border - 1, border)
        return begin + int(last.length.sum())

    def _shape(self, pieces: Pieces) -> ShardShape:
        s = self._settings
        fills = s.packer().fills_rows
        return ShardShape(pieces.row_lengths, s.dtype, s.context_length, s.pad_id, fills)

    def _open_writers(self, number: int, shape: ShardShape) -> dict[str, ShardWriter]:
        writers: dict[str, ShardWriter] = {}
        try:
            for name in self._settings.formats:
                form = find_format(name)
                form.check(shape, self._settings.max_id)
                writers[name] = form.open_shard(
                    self._work.output / name,
                    number,
                    shape,
                    split=self._settings.file_split(self.split),
                    extras=self._extras,
                )
        except BaseException:
            for writer in writers.values():
                writer.discard()
            raise
        return writers

    def _copy(
        self,
        writers: dict[str, ShardWriter],
        documents: Documents,
        pieces: Pieces,
        meter: Meter,
    ) -> bool:
        """Copy the ids from the parts to the shard by one call, if that is all there is to do."""
        if len(writers) != 1:
            return False
        (writer,) = writers.values()
        begins = documents.begin[pieces.documents] + pieces.begins
        places = documents.part[pieces.documents], begins, pieces.lengths
        collector = Collector(self._parts, self._settings.dtype, self._kept)
        with closing(collector), stage("write"):
            is_done = writer.copy_rows(partial(collector.copy, places))
        if is_done:
            meter.add(packed_tokens=int(pieces.lengths.sum()))
        return is_done

    def _batches(self, documents: Documents, pieces: Pieces) -> Iterator[Rows]:
        """Yield the shard's rows with their ids, about a million tokens at a time."""
        collector = Collector(self._parts, self._settings.dtype, self._kept)
        with closing(collector):
            yield from self._read_batches(documents, pieces, collector)

    def _read_batches(
        self, documents: Documents, pieces: Pieces, collector: Collector
    ) -> Iterator[Rows]:
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(pieces.lengths)))
        row_ends = ends[pieces.row_pieces]
        row = 0
        while row < pieces.rows:
            stop = int(np.searchsorted(row_ends, row_ends[row] + _BATCH_TOKENS, side="right")) - 1
            stop = min(max(stop, row + 1), pieces.rows)
            some = pieces.some_rows(row, stop)
            with stage("pack"):
                begins = documents.begin[some.documents] + some.begins
                ids = collector.collect(documents.part[some.documents], begins, some.lengths)
            add_bytes("pack", ids.nbytes)
            numbered = Pieces(
                documents.number[some.documents], some.begins, some.lengths, some.row_pieces
            )
            yield Rows(ids, numbered)
            row = stop

    def _commit(
        self,
        number: int,
        writers: dict[str, ShardWriter],
        documents: Documents,
        pieces: Pieces,
    ) -> list[ShardFile]:
        files = []
        for name, writer in writers.items():
            files += [placed(name, record) for record in writer.commit()]
        name = index_name(number, self._settings.file_split(self.split))
        numbered = Pieces(
            documents.number[pieces.documents], pieces.begins, pieces.lengths, pieces.row_pieces
        )
        done = write_index(self._work.output / INDEX / name, numbered)
        return [*files, ShardFile(INDEX, f"{INDEX}/{name}", done.bytes, done.checksum)]

    def _record(
        self,
        number: int,
        pieces: Pieces,
        began: int,
        writers: dict[str, ShardWriter],
        files: list[ShardFile],
    ) -> ShardRecord:
        return shard_record(
            (self.split, number), began, pieces, {n: w.facts for n, w in writers.items()}, files
        )


def _count_different(numbers: NDArray[np.int64], below: int) -> int:
    """Count numbers from 0 to `below`, each once; sorting them would take longer."""
    is_there = np.zeros(below, bool)
    is_there[numbers] = True
    return int(np.count_nonzero(is_there))
