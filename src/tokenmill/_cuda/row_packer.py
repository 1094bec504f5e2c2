"""DeviceRowPacker: batches of ids on a device -> rows there; what fills no row is carried on.

Rows equal those of `Packer` element by element. `concat` cuts the stream of all batches, so that
where batches end changes nothing; the other ways pack the documents of each batch by themselves.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.rows import (
    NO_DOCUMENTS,
    DeviceRows,
    Documents,
    Frame,
    RowOptions,
    check_ids,
    host_offsets,
    keep,
    make_rows,
)
from tokenmill._errors import OptionError
from tokenmill._pack import Packer, concat_rows, concat_shape
from tokenmill._pack.rows import Pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._cuda.rows import RowBackend

_NO_NUMBERS = np.empty(0, np.int64)
_NO_PIECES = Pieces(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, np.zeros(1, np.int64))


class DeviceRowPacker:
    """Packs batches of documents into rows of `packer.context_length`, all on one device.

    `add` takes the ids of a batch (int32 or uint32, on the device of `backend`) and where each
    document begins in them, and returns the rows that are full now, a multiple of `batch_rows`, or
    None. Tokens that wait for a full row are copied: the ids may be overwritten afterwards.
    `finish` returns the rows that are left; with `tail="drop"` a short last row is dropped.

    `bos_id` and `eos_id` are put around every document. `columns`, `dtype` ("int32" or "int64"),
    `pad_id`, `shifted_labels`, `ignore_index` and `continue_positions` are those of PackedDataset.
    `rows`, `tokens`, `padding`, `repeated` and `dropped` count what was done:
    tokens + padding + repeated - dropped is rows times `context_length`, after `finish`. `empty`
    counts the documents without a token, which stand in no row.
    """

    def __init__(
        self,
        backend: RowBackend,
        packer: Packer,
        *,
        bos_id: int | None = None,
        eos_id: int | None = None,
        batch_rows: int = 1,
        columns: Sequence[str] = ("input_ids", "labels"),
        dtype: str = "int64",
        pad_id: int = 0,
        shifted_labels: bool = False,
        ignore_index: int = -100,
        continue_positions: bool = False,
    ) -> None:
        if packer.context_length is None:
            raise OptionError(
                "expected rows of one length, got documents as they are", where="pack 'none'"
            )
        if operator.index(batch_rows) < 1:
            raise OptionError(f"expected 1 or more, got {batch_rows}", where="batch_rows")
        self._backend = backend
        self._frame = Frame(bos_id, eos_id)
        self._options = RowOptions(
            packer.context_length,
            tuple(columns),
            dtype,
            pad_id,
            shifted_labels,
            ignore_index,
            continue_positions,
        )
        self._plan = _Concat(packer) if packer.strategy == "concat" else _Groups(packer)
        self._batch_rows = operator.index(batch_rows)
        self._kept: Any = None  # the array that carried tokens lie in
        self.rows = self.tokens = self.padding = self.empty = 0

    @property
    def repeated(self) -> int:
        """Tokens that stand in one row too many."""
        return self._plan.repeated

    @property
    def dropped(self) -> int:
        """Tokens that stand in no row."""
        return self._plan.dropped

    def add(self, ids: Any, offsets: Any) -> DeviceRows | None:  # of the device
        """Add a batch: document `i` is `ids[offsets[i]:offsets[i + 1]]`."""
        check_ids(ids)
        bounds = host_offsets(self._backend, offsets)
        lengths = self._frame.lengths(np.diff(bounds))
        self.tokens += int(lengths.sum())
        self.empty += int(np.count_nonzero(lengths == 0))
        self._plan.add(Documents.of_batch(self._backend.address(ids), bounds), lengths)
        with self._backend.using(None):
            made = self._made(self._plan.take(self._batch_rows))
            documents, pieces = self._plan.rest()
            kept, self._kept = keep(self._backend, documents, pieces, self._frame)
        self._plan.keep(kept)
        return made

    def finish(self) -> DeviceRows | None:
        """Return the rows that are left: after this the packer is as new, but for its counts."""
        with self._backend.using(None):
            made = self._made(self._plan.finish())
        self._kept = None
        return made

    def _made(self, planned: tuple[Documents, Pieces]) -> DeviceRows | None:
        documents, pieces = planned
        if not pieces.rows:
            return None
        self.rows += pieces.rows
        self.padding += pieces.rows * self._options.width - int(pieces.lengths.sum())
        return make_rows(self._backend, documents, pieces, self._frame, self._options)


class _Concat:
    """The stream of all documents, cut into rows; those before the next row are forgotten."""

    def __init__(self, packer: Packer) -> None:
        assert packer.context_length is not None  # noqa: S101 -- only "none" has none
        self._width, self._overlap, self._tail = packer.context_length, packer.overlap, packer.tail
        self.repeated = self.dropped = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._documents = NO_DOCUMENTS
        self._lengths = _NO_NUMBERS
        self._begin = 0  # of the first document, in tokens of the stream
        self._row = 0  # the next one

    def add(self, documents: Documents, lengths: NDArray[np.int64]) -> None:
        self._documents = self._documents.and_then(documents)
        self._lengths = np.concatenate((self._lengths, lengths))

    def take(self, multiple: int) -> tuple[Documents, Pieces]:
        """Return as many rows as are full, a multiple of this number."""
        full = self._end - self._overlap  # a row is full where the next one could begin
        rows = max(full // (self._width - self._overlap) - self._row, 0)
        return self._rows_until(self._row + rows - rows % multiple)

    def finish(self) -> tuple[Documents, Pieces]:
        shape = concat_shape(self._end, self._width, self._overlap, tail=self._tail)
        self.dropped += shape.dropped
        taken = self._rows_until(shape.rows)
        self._begin_anew()
        return taken

    def rest(self) -> tuple[Documents, Pieces]:
        """Return what the next rows are made of, and forget what came before it."""
        next_token = min(self._row * (self._width - self._overlap), self._end)
        ends = self._begin + np.cumsum(self._lengths)
        gone = int(np.searchsorted(ends, next_token, side="right"))
        self._begin = int(ends[gone - 1]) if gone else self._begin
        self._documents, self._lengths = self._documents[gone:], self._lengths[gone:]
        begins = np.zeros(len(self._lengths), np.int64)
        begins[:1] = next_token - self._begin
        pieces = _one_row(begins, self._lengths - begins)
        return self._documents, pieces

    def keep(self, kept: Documents) -> None:
        self._documents = kept

    @property
    def _end(self) -> int:
        return self._begin + int(self._lengths.sum())

    def _rows_until(self, row: int) -> tuple[Documents, Pieces]:
        if row <= self._row:
            return self._documents, _NO_PIECES
        pieces = concat_rows(self._lengths, self._begin, self._row, row, self._width, self._overlap)
        self._row = row
        self.repeated += pieces.repeated
        return self._documents, pieces


class _Groups:
    """The documents of each batch by themselves; whole rows wait until they are enough."""

    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self.repeated = self.dropped = 0
        self._documents, self._pieces = NO_DOCUMENTS, _NO_PIECES

    def add(self, documents: Documents, lengths: NDArray[np.int64]) -> None:
        pieces = self._packer.pack(lengths)
        self.repeated += pieces.repeated
        self.dropped += pieces.dropped
        self._pieces = _joined(self._pieces, pieces, len(self._documents))
        self._documents = self._documents.and_then(documents)

    def take(self, multiple: int) -> tuple[Documents, Pieces]:
        rows = self._pieces.rows
        full = rows - rows % multiple
        taken = self._pieces.some_rows(0, full)
        self._pieces = self._pieces.some_rows(full, rows)
        return self._documents, taken

    def finish(self) -> tuple[Documents, Pieces]:
        taken = self.take(1)
        self._documents = NO_DOCUMENTS
        return taken

    def rest(self) -> tuple[Documents, Pieces]:
        return self._documents, self._pieces

    def keep(self, kept: Documents) -> None:
        held = self._pieces
        self._documents = kept
        self._pieces = Pieces(np.arange(len(kept)), held.begins, held.lengths, held.row_pieces)


def _one_row(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> Pieces:
    count = len(lengths)
    return Pieces(np.arange(count), begins, lengths, np.array([0, count]))


def _joined(first: Pieces, second: Pieces, documents: int) -> Pieces:
    """Return the rows of both; the second ones count documents from 0 anew."""
    return Pieces(
        np.concatenate((first.documents, second.documents + documents)),
        np.concatenate((first.begins, second.begins)),
        np.concatenate((first.lengths, second.lengths)),
        np.concatenate((first.row_pieces, second.row_pieces[1:] + len(first.lengths))),
    )
