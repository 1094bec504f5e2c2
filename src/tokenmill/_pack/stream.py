"""ConcatStream: `concat` for documents that arrive in batches, and never all at once.

It works on lengths alone, like every packer: who calls it holds the tokens, as arrays on the host
or on a device, and moves them to where the pieces put them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokenmill._pack.packer import concat_rows, concat_shape
from tokenmill._pack.rows import Pieces

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tokenmill._pack.packer import Tail


class ConcatStream:
    """Cuts the stream of all documents into rows as they arrive.

    The rows are those of `Packer("concat", ...)` for all documents at once: where a batch ends
    changes nothing. Pieces count documents from the first one that is still held.
    `dropped` and `repeated` count tokens, as in `Pieces`.
    """

    def __init__(self, context_length: int, overlap: int = 0, *, tail: Tail = "carry") -> None:
        self._width, self._overlap, self._tail = context_length, overlap, tail
        self.dropped = self.repeated = 0
        self._lengths: NDArray[np.int64]  # of the documents that are held
        self._begin: int  # of the first of them, in tokens of the stream
        self._row: int  # the next one
        self._restart()

    def add(self, lengths: ArrayLike) -> None:
        """Append documents of these lengths to the stream."""
        self._lengths = np.concatenate((self._lengths, np.asarray(lengths, np.int64)))

    def full_rows(self, multiple: int = 1, most: int | None = None) -> Pieces:
        """Return the next rows that are full: a multiple of this number, at most `most`."""
        # Row r ends at token (r + 1) * stride + overlap of the stream.
        rows = max((self._end - self._overlap) // self._stride - self._row, 0)
        rows = rows if most is None else min(rows, most)
        return self._rows_until(self._row + rows - rows % multiple)

    def forget(self) -> tuple[int, Pieces]:
        """Forget documents that no later row needs.

        Returns how many documents were forgotten, and the tokens that are left, as one row.
        """
        next_token = min(self._row * self._stride, self._end)
        ends = self._begin + np.cumsum(self._lengths)
        gone = int(np.searchsorted(ends, next_token, side="right"))
        self._begin = int(ends[gone - 1]) if gone else self._begin
        self._lengths = self._lengths[gone:]
        count = len(self._lengths)
        begins = np.zeros(count, np.int64)
        begins[:1] = next_token - self._begin
        return gone, Pieces(
            np.arange(count), begins, self._lengths - begins, np.array([0, count], np.int64)
        )

    def finish(self) -> Pieces:
        """Return the rows that are left, and start a new stream; the counts stay.

        The last row may be short. With the tail "drop" it is left out and counted.
        """
        shape = concat_shape(self._end, self._width, self._overlap, tail=self._tail)
        self.dropped += shape.dropped
        pieces = self._rows_until(shape.rows)
        self._restart()
        return pieces

    @property
    def _stride(self) -> int:
        return self._width - self._overlap

    @property
    def _end(self) -> int:
        return self._begin + int(self._lengths.sum())

    def _restart(self) -> None:
        self._lengths = np.empty(0, np.int64)
        self._begin = self._row = 0

    def _rows_until(self, row: int) -> Pieces:
        if row <= self._row:
            return Pieces.join([])
        pieces = concat_rows(self._lengths, self._begin, self._row, row, self._width, self._overlap)
        self._row = row
        self.repeated += pieces.repeated
        return pieces
