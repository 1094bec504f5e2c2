"""Tables of rows on a device: where tokens are, which piece goes where, and the kernel's call.

The host decides which tokens go into which row, from lengths alone, with the packer that all other
packing uses too. Only the device reads and writes ids.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._core import piece_table
from tokenmill._cuda.documents import DeviceDocuments
from tokenmill._cuda.layout import ROWS, RowOption, fill
from tokenmill._errors import OptionError
from tokenmill._pack import RowLooks, cu_seqlens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import RowBackend
    from tokenmill._pack.rows import Pieces

_TILE = 2048  # kRowTile of rows.h
_THREADS = 256
_COLUMNS = (
    "piece_place", "piece_length", "piece_frame", "piece_text", "piece_ids", "piece_position",
    "piece_segment",
)  # fmt: skip


@dataclass(frozen=True)
class RowFrame:
    """The BOS before each document and the EOS after it, if any."""

    bos_id: int | None = None
    eos_id: int | None = None

    @property
    def before(self) -> int:
        """How many tokens come before the text: 0 or 1."""
        return int(self.bos_id is not None)

    def lengths(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lengths of documents with BOS and EOS."""
        return texts + (self.before + int(self.eos_id is not None))


@dataclass(frozen=True)
class DeviceRowOptions:
    """The columns of rows of `width` tokens; the options are those of PackedDataset."""

    width: int
    looks: RowLooks = field(default_factory=RowLooks)
    pad_id: int = 0

    @property
    def flags(self) -> RowOption:
        """The bits of Rows::options."""
        wide = RowOption.WIDE if self.looks.dtype == "int64" else RowOption(0)
        return wide | (RowOption.SHIFTED_LABELS if self.looks.shifted_labels else RowOption(0))


@dataclass(frozen=True)
class DeviceRows:
    """Rows as tables on a device, each of `len(rows)` lines; `rows["input_ids"]` is a column.

    Columns are arrays on the device with `__dlpack__`: `torch.from_dlpack` uses them without a
    copy. "cu_seqlens" holds those of all rows, back to back; the padding of a row is a piece of its
    own. `pieces`, on the host, names the documents that the tokens come from.
    """

    columns: Mapping[str, Any]
    pieces: Pieces
    width: int
    backend: RowBackend

    def __len__(self) -> int:
        return self.pieces.rows

    def __getitem__(self, name: str) -> Any:  # an array of the device
        return self.columns[name]

    @property
    def max_seqlen(self) -> int:
        """The longest piece, for variable-length attention; padding counts as a piece."""
        padding = self.width - self.pieces.row_lengths
        return int(max(self.pieces.lengths.max(initial=0), padding.max(initial=0)))

    def some_rows(self, begin: int, end: int) -> DeviceRows:
        """Return rows `begin` to `end`; tables are views."""
        pieces = self.pieces.some_rows(begin, end)
        columns = {name: c[begin:end] for name, c in self.columns.items() if name != "cu_seqlens"}
        if "cu_seqlens" in self.columns:
            columns["cu_seqlens"] = self.backend.asarray(cu_seqlens(pieces, self.width))
        return DeviceRows(columns, pieces, self.width, self.backend)

    def batches(self, rows: int) -> Iterator[DeviceRows]:
        """Yield `rows` rows at a time; the last batch has the rest."""
        for begin in range(0, len(self), rows):
            yield self.some_rows(begin, min(begin + rows, len(self)))


def make_rows(
    backend: RowBackend,
    documents: DeviceDocuments,
    pieces: Pieces,
    frame: RowFrame,
    options: DeviceRowOptions,
) -> DeviceRows:
    """Make the columns of rows that a packer has planned."""
    shape = (pieces.rows, options.width)
    columns: dict[str, Any] = {}
    for name in options.looks.columns:
        dtype = "int32" if name == "segment_ids" else options.looks.dtype
        if name != "cu_seqlens":
            columns[name] = backend.empty(shape[0] * shape[1], np.dtype(dtype))
    table = _piece_table(documents, pieces, frame, options)
    settings = {
        "places": shape[0] * shape[1],
        "pad": options.pad_id,
        "ignore": options.looks.ignore_index % 2**64,
        "options": options.flags,
    }
    _launch(backend, table, columns, frame, settings)
    tables = {name: column.reshape(shape) for name, column in columns.items()}
    if "cu_seqlens" in options.looks.columns:
        tables["cu_seqlens"] = backend.asarray(cu_seqlens(pieces, options.width))
    ordered = {name: tables[name] for name in options.looks.columns}
    return DeviceRows(ordered, pieces, options.width, backend)


def keep(
    backend: RowBackend, documents: DeviceDocuments, pieces: Pieces, frame: RowFrame
) -> tuple[DeviceDocuments, Any]:
    """Copy the tokens of pieces to memory of our own; each piece becomes a document.

    The returned array holds them: it must live as long as the documents.
    """
    tokens = int(pieces.lengths.sum())
    array = backend.empty(tokens, np.dtype(np.int32))
    if tokens:
        options = DeviceRowOptions(tokens, RowLooks(("input_ids",), "int32"))
        flat = type(pieces)(
            pieces.documents, pieces.begins, pieces.lengths, np.array([0, len(pieces.lengths)])
        )
        table = _piece_table(documents, flat, frame, options)
        _launch(backend, table, {"input_ids": array}, frame, {"places": tokens})
    return DeviceDocuments.of_kept(backend.address(array), pieces), array


def _piece_table(
    documents: DeviceDocuments, pieces: Pieces, frame: RowFrame, options: DeviceRowOptions
) -> NDArray[np.uint64]:
    """Return the columns `_COLUMNS` of the struct Rows, one after the other."""
    return piece_table(
        pieces.documents,
        pieces.begins,
        pieces.lengths,
        pieces.row_pieces,
        (documents.addresses, documents.text_lengths, documents.framed),
        options.width,
        frame.before,
        options.looks.continue_positions,
    )


def _launch(
    backend: RowBackend,
    numbers: NDArray[np.uint64],
    columns: Mapping[str, Any],
    frame: RowFrame,
    settings: Mapping[str, int],
) -> None:
    count = numbers.size // len(_COLUMNS)
    if not count:
        return
    table = backend.asarray(numbers)
    first = backend.address(table)
    struct = fill(
        ROWS,
        {
            "pieces": count,
            **{name: first + 8 * count * i for i, name in enumerate(_COLUMNS)},
            "bos": frame.bos_id or 0,
            "bos_count": frame.before,
            "eos": frame.eos_id or 0,
            **settings,
            **{name: backend.address(column) for name, column in columns.items()},
        },
    )
    given = backend.asarray(struct)
    backend.launch(
        "fill_rows", -(-settings["places"] // _TILE), _THREADS, 0, backend.address(given)
    )


def host_offsets(backend: RowBackend, offsets: Any) -> NDArray[np.int64]:
    """Return offsets of documents on the host: lengths decide which row a token goes to."""
    is_here = type(offsets) in (np.ndarray, list)  # a device may have its own subclass
    return np.asarray(offsets if is_here else backend.to_host(offsets), np.int64)


def check_ids(ids: Any) -> None:  # an array of the device
    """Refuse ids that do not have four bytes."""
    if str(ids.dtype) not in ("int32", "uint32"):
        raise OptionError(f"expected int32 or uint32, got {ids.dtype}", where="ids")
