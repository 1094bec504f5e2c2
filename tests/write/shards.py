"""Shards for tests: documents cut into rows at random, and ways to write and read them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tokenmill._pack.rows import Pieces, Rows, ShardShape
from tokenmill._write import FORMATS, Extras

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._files import FileRecord
    from tokenmill._write import ShardFacts

LARGEST = {"uint16": 0xFFFF, "uint32": 0x7FFF_FFFF}
SIGNED = {"megatron", "parquet", "arrow", "torch"}


@dataclass(frozen=True)
class Shard:
    """Rows of pieces, and their shape."""

    rows: Rows
    shape: ShardShape

    def stored(self, form: str) -> list[int]:
        """Return the ids that a format must store, padding included, computed slowly."""
        fixed = FORMATS[form].fixed_rows
        pads = fixed or (self.shape.padded and form not in {"parquet", "arrow"})
        ids: list[int] = []
        for row in self.lists():
            fill = (self.shape.context_length or 0) - len(row) if pads else 0
            ids += row + [self.shape.pad_id or 0] * fill
        return ids

    def lists(self) -> list[list[int]]:
        """Return the ids of each row."""
        ids, begin = self.rows.ids.tolist(), 0
        rows = []
        for length in self.shape.row_lengths.tolist():
            rows.append(ids[begin : begin + length])
            begin += length
        return rows

    def piece_lists(self) -> list[list[int]]:
        """Return the lengths of the pieces of each row."""
        pieces = self.rows.pieces
        borders = pieces.row_pieces.tolist()
        lengths = pieces.lengths.tolist()
        return [lengths[a:b] for a, b in itertools.pairwise(borders)]


def shard_of(
    rows: list[list[list[int]]],
    *,
    dtype: str = "uint16",
    context: int | None = None,
    pad_id: int | None = 0,
    padded: bool = True,
) -> Shard:
    """Make a shard of rows of pieces of ids; each piece is a document of its own."""
    lengths = [len(piece) for row in rows for piece in row]
    pieces = Pieces(
        documents=np.arange(len(lengths), dtype=np.int64),
        begins=np.zeros(len(lengths), np.int64),
        lengths=np.array(lengths, np.int64),
        row_pieces=np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64),
    )
    ids = np.array([id_ for row in rows for piece in row for id_ in piece], dtype)
    shape = ShardShape(pieces.row_lengths, dtype, context, pad_id, padded)
    return Shard(Rows(ids, pieces), shape)


@st.composite
def shards(draw: st.DrawFn, *, packed: bool) -> Shard:
    """Draw a shard; `packed` rows have a context length, others are documents."""
    dtype = draw(st.sampled_from(["uint16", "uint32"]))
    context = draw(st.integers(1, 12)) if packed else None
    piece = st.lists(st.integers(0, LARGEST[dtype]), max_size=4 if packed else 300)
    rows = draw(st.lists(st.lists(piece, max_size=3), max_size=8))
    if context is not None:
        rows = [_crop(row, context) for row in rows]
    return shard_of(rows, dtype=dtype, context=context, pad_id=7, padded=draw(st.booleans()))


def _crop(row: list[list[int]], room: int) -> list[list[int]]:
    kept = []
    for piece in row:
        kept.append(piece[:room])
        room -= len(kept[-1])
    return kept


def write(
    form: str,
    folder: Path,
    shard: Shard,
    *,
    number: int = 0,
    split: str = "",
    cuts: tuple[int, ...] = (),
    extras: Extras | None = None,
) -> tuple[list[FileRecord], ShardFacts, int]:
    """Write a shard in one piece, or cut before some rows; return records, facts and padding."""
    writer = FORMATS[form].open_shard(
        folder, number, shard.shape, split=split, extras=extras or Extras()
    )
    borders = [0, *sorted(cuts), shard.shape.rows]
    for begin, end in itertools.pairwise(borders):
        writer.write(part(shard.rows, begin, end))
    return writer.commit(), writer.facts, writer.padding


def part(rows: Rows, begin: int, end: int) -> Rows:
    """Take some of the rows."""
    pieces = rows.pieces
    borders = pieces.row_pieces[begin : end + 1]
    chosen = slice(int(borders[0]), int(borders[-1]))
    first = int(pieces.lengths[: borders[0]].sum())
    last = int(pieces.lengths[: borders[-1]].sum())
    some = Pieces(
        pieces.documents[chosen],
        pieces.begins[chosen],
        pieces.lengths[chosen],
        borders - borders[0],
    )
    return Rows(rows.ids[first:last], some)


def read(form: str, folder: Path, dtype: str, *, number: int = 0, split: str = "") -> list[int]:
    """Read a shard's ids back."""
    parts: list[NDArray[Any]] = list(
        FORMATS[form].read_shard(folder, number, dtype=dtype, split=split)
    )
    assert all(p.dtype == dtype for p in parts)
    return [id_ for p in parts for id_ in p.tolist()]
