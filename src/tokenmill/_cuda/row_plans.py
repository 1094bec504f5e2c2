"""Which pieces of which documents go into rows: decided on the host, batch after batch.

A plan holds the documents that rows still need. `add` brings a batch, `take` returns full rows,
`rest` returns what later rows need, and `keep` tells the plan where that was copied to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokenmill._cuda.rows import NO_DOCUMENTS
from tokenmill._pack import concat_rows, concat_shape
from tokenmill._pack.rows import Pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._cuda.rows import DeviceDocuments
    from tokenmill._pack import Packer

    Planned = tuple[DeviceDocuments, Pieces]

_NO_NUMBERS = np.empty(0, np.int64)
_NO_PIECES = Pieces(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, np.zeros(1, np.int64))


class RowPlan(Protocol):
    """What DeviceRowPacker asks of a plan."""

    @property
    def repeated(self) -> int:
        """Tokens that are in a second row too."""

    @property
    def dropped(self) -> int:
        """Tokens that are in no row."""

    def add(self, documents: DeviceDocuments, lengths: NDArray[np.int64]) -> None:
        """Add the documents of a batch."""

    def take(self, multiple: int) -> Planned:
        """Return as many rows as are full, a multiple of this number."""

    def finish(self) -> Planned:
        """Return the last rows, and forget all documents."""

    def rest(self) -> Planned:
        """Return the tokens that later rows need."""

    def keep(self, kept: DeviceDocuments) -> None:
        """Use copies in place of the documents of `rest`."""


def plan_for(packer: Packer) -> RowPlan:
    """Return the plan for a packer's strategy."""
    return StreamPlan(packer) if packer.strategy == "concat" else BatchPlan(packer)


class ConcatStream:
    """Lengths of documents, a batch at a time -> rows cut from the stream of all their tokens.

    It knows nothing about ids. Documents that no later row needs are forgotten.
    """

    def __init__(self, width: int, overlap: int, tail: str) -> None:
        self._width, self._overlap, self._tail = width, overlap, tail
        self.repeated = self.dropped = 0
        self._restart()

    def _restart(self) -> None:
        self._lengths = _NO_NUMBERS
        self._begin = 0  # of the first document, in tokens of the stream
        self._row = 0  # the next one

    def add(self, lengths: NDArray[np.int64]) -> None:
        """Add documents to the end of the stream."""
        self._lengths = np.concatenate((self._lengths, lengths))

    def take(self, multiple: int) -> Pieces:
        """Return as many rows as are full, a multiple of this number."""
        full = self._end - self._overlap  # a row is full where the next one could start
        rows = max(full // (self._width - self._overlap) - self._row, 0)
        return self._rows_until(self._row + rows - rows % multiple)

    def finish(self) -> Pieces:
        """Return the last rows, and start a new stream."""
        shape = concat_shape(self._end, self._width, self._overlap, tail=self._tail)
        self.dropped += shape.dropped
        taken = self._rows_until(shape.rows)
        self._restart()
        return taken

    def forget(self) -> tuple[int, Pieces]:
        """Forget documents that no later row needs: how many, and the pieces that are left."""
        next_token = min(self._row * (self._width - self._overlap), self._end)
        ends = self._begin + np.cumsum(self._lengths)
        gone = int(np.searchsorted(ends, next_token, side="right"))
        self._begin = int(ends[gone - 1]) if gone else self._begin
        self._lengths = self._lengths[gone:]
        begins = np.zeros(len(self._lengths), np.int64)
        begins[:1] = next_token - self._begin
        return gone, _one_row(begins, self._lengths - begins)

    @property
    def _end(self) -> int:
        return self._begin + int(self._lengths.sum())

    def _rows_until(self, row: int) -> Pieces:
        if row <= self._row:
            return _NO_PIECES
        pieces = concat_rows(self._lengths, self._begin, self._row, row, self._width, self._overlap)
        self._row = row
        self.repeated += pieces.repeated
        return pieces


class StreamPlan:
    """One stream over all batches ("concat")."""

    def __init__(self, packer: Packer) -> None:
        assert packer.context_length is not None  # noqa: S101 -- only "none" has none
        self._stream = ConcatStream(packer.context_length, packer.overlap, packer.tail)
        self._documents = NO_DOCUMENTS

    @property
    def repeated(self) -> int:
        return self._stream.repeated

    @property
    def dropped(self) -> int:
        return self._stream.dropped

    def add(self, documents: DeviceDocuments, lengths: NDArray[np.int64]) -> None:
        self._documents = self._documents.and_then(documents)
        self._stream.add(lengths)

    def take(self, multiple: int) -> Planned:
        return self._documents, self._stream.take(multiple)

    def finish(self) -> Planned:
        documents, self._documents = self._documents, NO_DOCUMENTS
        return documents, self._stream.finish()

    def rest(self) -> Planned:
        gone, pieces = self._stream.forget()
        self._documents = self._documents[gone:]
        return self._documents, pieces

    def keep(self, kept: DeviceDocuments) -> None:
        self._documents = kept


class BatchPlan:
    """Each batch on its own; rows wait until there are enough of them."""

    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self.repeated = self.dropped = 0
        self._documents, self._pieces = NO_DOCUMENTS, _NO_PIECES

    def add(self, documents: DeviceDocuments, lengths: NDArray[np.int64]) -> None:
        pieces = self._packer.pack(lengths)
        self.repeated += pieces.repeated
        self.dropped += pieces.dropped
        self._pieces = _joined(self._pieces, pieces, len(self._documents))
        self._documents = self._documents.and_then(documents)

    def take(self, multiple: int) -> Planned:
        rows = self._pieces.rows
        full = rows - rows % multiple
        taken = self._pieces.some_rows(0, full)
        self._pieces = self._pieces.some_rows(full, rows)
        return self._documents, taken

    def finish(self) -> Planned:
        taken = self.take(1)
        self._documents = NO_DOCUMENTS
        return taken

    def rest(self) -> Planned:
        return self._documents, self._pieces

    def keep(self, kept: DeviceDocuments) -> None:
        held = self._pieces
        self._documents = kept
        self._pieces = Pieces(np.arange(len(kept)), held.begins, held.lengths, held.row_pieces)


def _one_row(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> Pieces:
    count = len(lengths)
    return Pieces(np.arange(count), begins, lengths, np.array([0, count]))


def _joined(first: Pieces, second: Pieces, documents: int) -> Pieces:
    """Return the rows of both; the second ones number their documents from 0 again."""
    return Pieces(
        np.concatenate((first.documents, second.documents + documents)),
        np.concatenate((first.begins, second.begins)),
        np.concatenate((first.lengths, second.lengths)),
        np.concatenate((first.row_pieces, second.row_pieces[1:] + len(first.lengths))),
    )
