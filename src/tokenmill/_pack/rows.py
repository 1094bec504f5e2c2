"""Rows of tokens with their borders: packers make them, and every file format is written from them.

A row is one or more *pieces*; a piece is a run of tokens of one document. No padding is stored
here: formats whose rows must have one length add it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Pieces:
    """Which tokens of which documents are in which row.

    Piece `p` is the tokens `begins[p] : begins[p] + lengths[p]` of document `documents[p]`; the
    pieces of row `r` are `row_pieces[r] : row_pieces[r + 1]`. `dropped` counts the tokens of the
    documents that are in no row, `repeated` those that are in one row too many.
    """

    documents: NDArray[np.int64]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]
    row_pieces: NDArray[np.int64]
    dropped: int = 0
    repeated: int = 0

    @staticmethod
    def join(parts: Sequence[Pieces]) -> Pieces:
        """Return the rows of all parts, in order; document numbers stay, counts are added."""
        none = np.empty(0, np.int64)
        row_ends = [none, *(np.diff(part.row_pieces) for part in parts)]
        return Pieces(
            np.concatenate([none, *(part.documents for part in parts)]),
            np.concatenate([none, *(part.begins for part in parts)]),
            np.concatenate([none, *(part.lengths for part in parts)]),
            _offsets(np.concatenate(row_ends)),
            sum(part.dropped for part in parts),
            sum(part.repeated for part in parts),
        )

    @staticmethod
    def one_a_row(lengths: NDArray[np.int64]) -> Pieces:
        """Return rows of one piece each, the start of a document of its own."""
        count = len(lengths)
        numbers = np.arange(count + 1)
        return Pieces(numbers[:-1], np.zeros(count, np.int64), lengths, numbers)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.row_pieces) - 1

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """The tokens in each row, without padding."""
        return np.diff(_offsets(self.lengths)[self.row_pieces])

    def some_rows(self, begin: int, end: int) -> Pieces:
        """Return the pieces of rows `begin` to `end`."""
        first, last = int(self.row_pieces[begin]), int(self.row_pieces[end])
        return Pieces(
            self.documents[first:last],
            self.begins[first:last],
            self.lengths[first:last],
            self.row_pieces[begin : end + 1] - first,
        )

    def renumbered(self, shift: int) -> Pieces:
        """Return the same rows with `shift` added to the number of every document."""
        return replace(self, documents=self.documents + shift)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of several runs begins, and where the last one ends."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))


@dataclass(frozen=True)
class Rows:
    """Some rows of a shard: `ids` are the tokens of all pieces, back to back."""

    ids: NDArray[Any]
    pieces: Pieces


@dataclass(frozen=True)
class ShardShape:
    """What is known of a shard before its first token is written.

    `row_lengths` are without padding. `context_length` is None if rows are whole documents;
    otherwise no row is longer, and `pad_id` fills up shorter ones. With `padded`, formats that
    could store a short row as it is get padding too. `dtype` is "uint16" or "uint32".
    """

    row_lengths: NDArray[np.int64]
    dtype: str
    context_length: int | None = None
    pad_id: int | None = None
    padded: bool = True

    @property
    def rows(self) -> int:
        """How many rows the shard has."""
        return len(self.row_lengths)

    @property
    def tokens(self) -> int:
        """How many tokens the shard has, without padding."""
        return int(self.row_lengths.sum())

    @property
    def item_size(self) -> int:
        """The bytes of one id."""
        return int(np.dtype(self.dtype).itemsize)
