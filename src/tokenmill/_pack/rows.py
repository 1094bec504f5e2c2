"""Rows of tokens with their borders: what packers make, and what every file format is written from.

A row is one or more *pieces*; a piece is a run of tokens of one document. No padding is stored
here: formats whose rows must have one length add it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Pieces:
    """Which tokens of which documents stand in which row.

    Piece `p` is the tokens `begins[p] : begins[p] + lengths[p]` of document `documents[p]`; the
    pieces of row `r` are `row_pieces[r] : row_pieces[r + 1]`. `dropped` counts the tokens of the
    documents given that stand in no row, `repeated` those that stand in one row too many.
    """

    documents: NDArray[np.int64]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]
    row_pieces: NDArray[np.int64]
    dropped: int = 0
    repeated: int = 0

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.row_pieces) - 1

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """The tokens in each row, without padding."""
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(self.lengths)))
        return np.diff(ends[self.row_pieces])

    def some_rows(self, begin: int, end: int) -> Pieces:
        """Return the pieces of rows `begin` to `end`."""
        first, last = int(self.row_pieces[begin]), int(self.row_pieces[end])
        return Pieces(
            self.documents[first:last],
            self.begins[first:last],
            self.lengths[first:last],
            self.row_pieces[begin : end + 1] - first,
        )


@dataclass(frozen=True)
class Rows:
    """Some rows of a shard: `ids` are the tokens of all pieces, back to back."""

    ids: NDArray[Any]
    pieces: Pieces


@dataclass(frozen=True)
class ShardShape:
    """What is known of a shard before its first token is written.

    `row_lengths` are without padding. `context_length` is None where rows are whole documents;
    otherwise no row is longer, and `pad_id` fills shorter ones up. `padded` says whether formats
    that can do without padding get it too; with False they store a short row as it is.
    `dtype` is "uint16" or "uint32".
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
