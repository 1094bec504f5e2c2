"""Which pieces of which documents go into rows: decided on the host, batch after batch.

A plan holds the documents that rows still need. `add` brings a batch, `take` returns full rows,
`rest` returns what later rows need, and `keep` tells the plan where that was copied to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokenmill._cuda.documents import NO_DOCUMENTS
from tokenmill._pack import ConcatStream, Pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._cuda.documents import DeviceDocuments
    from tokenmill._pack import Packer

    Planned = tuple[DeviceDocuments, Pieces]


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


class StreamPlan:
    """One stream over all batches ("concat")."""

    def __init__(self, packer: Packer) -> None:
        assert packer.context_length is not None  # noqa: S101 -- only "none" has none
        self._stream = ConcatStream(packer.context_length, packer.overlap, tail=packer.tail)
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
        return self._documents, self._stream.full_rows(multiple)

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
        self._documents, self._pieces = NO_DOCUMENTS, Pieces.join([])

    def add(self, documents: DeviceDocuments, lengths: NDArray[np.int64]) -> None:
        pieces = self._packer.pack(lengths)
        self.repeated += pieces.repeated
        self.dropped += pieces.dropped
        self._pieces = Pieces.join([self._pieces, pieces.renumbered(len(self._documents))])
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
