"""Rows of finished shards -> new shards: which rows go where, and writing them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._mill.output.document_table import SeenDocuments
from tokenmill._mill.output.shard_records import (
    ShardFile,
    ShardRecord,
    keep_record,
    placed,
    read_record,
    shard_record,
)
from tokenmill._mill.output.stored import RowReader
from tokenmill._mill.output.work import INDEX
from tokenmill._pack.rows import Pieces, Rows, ShardShape
from tokenmill._timeline import add_bytes, stage
from tokenmill._write import Extras, find_format, index_name, write_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenmill._mill.meter import Meter
    from tokenmill._mill.output.stored import StoredShard
    from tokenmill._mill.output.work import Work
    from tokenmill._write import ShardWriter


@dataclass(frozen=True)
class Take:
    """Some rows of a finished shard; `shift` is added to the numbers of its documents."""

    shard: StoredShard
    shift: int
    begin: int
    end: int

    @property
    def bytes(self) -> int:
        """About how many bytes of the shard's files hold the rows; exact for all of its rows."""
        return self.shard.bytes_before(self.end) - self.shard.bytes_before(self.begin)

    def pieces(self) -> Pieces:
        """Return the pieces of the rows, with the new numbers."""
        index = self.shard.index()
        return index.pieces.some_rows(self.begin, self.end).renumbered(self.shift)


@dataclass(frozen=True)
class NewShard:
    """A shard to be written: its rows in order, and how many documents appear in it first."""

    split: str
    number: int
    documents: int
    takes: tuple[Take, ...]


def lay_out(shards: Sequence[tuple[StoredShard, int]], shard_tokens: int | None) -> list[NewShard]:
    """Decide which rows go into which shard: as they are, or by a number of tokens."""
    splits: dict[str, list[tuple[StoredShard, int]]] = {}
    for shard, shift in shards:
        splits.setdefault(shard.split, []).append((shard, shift))
    new: list[NewShard] = []
    for split, those in splits.items():
        new += _kept(split, those) if not shard_tokens else _divided(split, those, shard_tokens)
    return new


def _kept(split: str, shards: Sequence[tuple[StoredShard, int]]) -> list[NewShard]:
    """Keep shards as they are; their numbers, which may have gaps, continue across outputs."""
    new: list[NewShard] = []
    base = 0
    for shard, shift in shards:
        if new and shift != new[-1].takes[0].shift:
            base = new[-1].number + 1
        take = Take(shard, shift, 0, shard.rows)
        new.append(NewShard(split, base + shard.number, shard.documents, (take,)))
    return new


def _divided(
    split: str, shards: Sequence[tuple[StoredShard, int]], shard_tokens: int
) -> list[NewShard]:
    """Divide the rows of a split into shards as `pack` does.

    A shard holds as many rows with a context length as it has room for. Of whole documents, it
    holds those that start in its range of the tokens.
    """
    takes: dict[int, list[Take]] = {}
    rows = tokens = 0
    for shard, shift in shards:
        index = shard.index()
        if shard.context_length is None:
            number = (tokens + index.row_offsets[:-1]) // shard_tokens
        else:
            number = (rows + np.arange(index.rows)) // max(1, shard_tokens // shard.context_length)
        borders = np.concatenate(([0], np.flatnonzero(np.diff(number)) + 1, [index.rows]))
        for begin, end in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            if begin < end:
                takes.setdefault(int(number[begin]), []).append(Take(shard, shift, begin, end))
        rows, tokens = rows + index.rows, tokens + index.tokens
    # A range inside one long document makes no shard, and its number is not used.
    return [NewShard(split, number, 0, tuple(takes[number])) for number in sorted(takes)]


def count_documents(shards: Sequence[NewShard], documents: int) -> list[NewShard]:
    """Fill in how many documents appear in each shard for the first time."""
    seen = SeenDocuments(documents)
    return [
        dataclasses.replace(
            shard, documents=sum(seen.add(take.pieces().documents) for take in shard.takes)
        )
        for shard in shards
    ]


@dataclass(frozen=True)
class Rewriting:
    """Everything that is the same for all new shards, and how to write one."""

    work: Work
    formats: tuple[str, ...]
    dtype: str
    context_length: int | None
    pad_id: int | None
    max_id: int
    padded: bool
    in_splits: bool
    extras: Extras
    meter: Meter

    def runs(self, shards: Sequence[NewShard]) -> list[list[NewShard]]:
        """Group shards so that no two groups read the same finished shard."""
        runs: list[list[NewShard]] = []
        for shard in shards:
            continues = bool(shard.takes) and shard.takes[0].begin > 0
            if runs and continues:
                runs[-1].append(shard)
            else:
                runs.append([shard])
        return runs

    def make(self, run: Sequence[NewShard]) -> list[ShardRecord]:
        """Write the shards of a group that are missing; rows are read forwards, once."""
        source = _Source(self.meter)
        with self.meter.worker():
            return [self._finished(shard) or self._make(shard, source) for shard in run]

    def _finished(self, shard: NewShard) -> ShardRecord | None:
        """Return the record of a shard that an earlier run has written, and count it."""
        record = read_record(self.work, shard.split, shard.number)
        if record is not None:
            ids, done = record.formats[self.formats[0]], sum(take.bytes for take in shard.takes)
            tokens = ids["ids"] - ids["padding"]
            self.meter.add(input_bytes=done, resumed_bytes=done)
            self.meter.add(tokens=tokens, resumed_tokens=tokens, packed_tokens=tokens)
            self.meter.add(documents=record.documents, resumed_documents=record.documents)
            self.meter.add(shards=1)
        return record

    def _make(self, shard: NewShard, source: _Source) -> ShardRecord:
        with stage("pack"):
            pieces = Pieces.join([take.pieces() for take in shard.takes])
        shape = ShardShape(
            pieces.row_lengths, self.dtype, self.context_length, self.pad_id, self.padded
        )
        writers: dict[str, ShardWriter] = {}
        try:
            for name in self.formats:
                writers[name] = self._open_writer(name, shard, shape)
            for take in shard.takes:
                for rows in source.rows(take):
                    with stage("write"):
                        for writer in writers.values():
                            writer.write(rows)
                    self.meter.add(packed_tokens=len(rows.ids))
            with stage("write"):
                files = [
                    placed(name, file)
                    for name, writer in writers.items()
                    for file in writer.commit()
                ]
        except BaseException:
            for writer in writers.values():
                writer.discard()
            raise
        with stage("write"):
            record = self._commit(shard, pieces, writers, files)
        self.meter.add(shards=1, documents=record.documents)
        return record

    def _open_writer(self, name: str, shard: NewShard, shape: ShardShape) -> ShardWriter:
        form = find_format(name)
        form.check(shape, self.max_id)
        split = shard.split if self.in_splits else ""
        return form.open_shard(
            self.work.output / name, shard.number, shape, split=split, extras=self.extras
        )

    def _commit(
        self,
        shard: NewShard,
        pieces: Pieces,
        writers: dict[str, ShardWriter],
        files: list[ShardFile],
    ) -> ShardRecord:
        """Write the index, then the record: a shard without one does not count."""
        name = index_name(shard.number, shard.split if self.in_splits else "")
        done = write_index(self.work.output / INDEX / name, pieces)
        files.append(ShardFile(INDEX, f"{INDEX}/{name}", done.bytes, done.checksum))
        facts = {name: writer.facts for name, writer in writers.items()}
        record = shard_record((shard.split, shard.number), shard.documents, pieces, facts, files)
        keep_record(self.work, record)
        return record


class _Source:
    """The finished shard that rows are read from; it is checked when it is opened."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._shard: StoredShard | None = None
        self._reader: RowReader | None = None

    def rows(self, take: Take) -> Iterator[Rows]:
        """Yield the rows of a take, with the new numbers of documents."""
        with stage("read"):
            reader = self._open(take.shard)
        at, batches = take.begin, reader.rows(take.begin, take.end)
        while True:
            with stage("read"):
                rows = next(batches, None)
            if rows is None:
                return
            begin, at = at, at + rows.pieces.rows
            size = take.shard.bytes_before(at) - take.shard.bytes_before(begin)
            add_bytes("read", size)
            self._meter.add(input_bytes=size, tokens=len(rows.ids))
            with stage("pack", rows.ids.nbytes):
                renumbered = Rows(rows.ids, rows.pieces.renumbered(take.shift))
            yield renumbered

    def _open(self, shard: StoredShard) -> RowReader:
        if self._reader is None or self._shard is not shard:
            form = shard.format_to_read
            shard.refuse_damage(form)
            self._shard, self._reader = shard, RowReader(shard, form)
        return self._reader
