"""Tables of rows on a device: where tokens lie, which piece goes where, and the kernel's call.

Which tokens stand in which row is decided here, on the host, from lengths alone, by the packer that
every other way of packing uses too. Ids are read and written by the device only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokenmill._cuda.layout import ROWS, fill
from tokenmill._errors import OptionError
from tokenmill._pack import cu_seqlens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from tokenmill._pack.rows import Pieces

COLUMNS = (
    "input_ids", "labels", "position_ids", "segment_ids", "attention_mask", "cu_seqlens",
)  # fmt: skip
DTYPES = ("int32", "int64")
_ID_BYTES = 4
_TILE = 2048  # kRowTile of rows.h
_THREADS = 256
_WIDE, _SHIFTED = 1, 2  # RowOption
_ENDLESS = 1 << 62  # more tokens than any document has


class RowBackend(Protocol):
    """What rows ask of a device. Arrays are one-dimensional and belong to the device."""

    def empty(self, count: int, dtype: Any) -> Any:
        """Return an array without a content."""

    def asarray(self, values: NDArray[Any]) -> Any:
        """Copy an array to the device."""

    def to_host(self, array: Any) -> NDArray[Any]:
        """Copy an array from the device."""

    def address(self, array: Any) -> int:
        """Return where an array begins."""

    def launch(self, name: str, blocks: int, threads: int, tables: int, batch: int) -> None:
        """Run a kernel with two addresses of structs."""

    def using(self, stream: Any) -> AbstractContextManager[Any]:
        """Make the device the current one; with None its stream stays the current one."""


@dataclass(frozen=True)
class Frame:
    """What stands around each document: at most one token before it and one behind it."""

    bos_id: int | None = None
    eos_id: int | None = None

    @property
    def before(self) -> int:
        """How many tokens stand before the text."""
        return int(self.bos_id is not None)

    def lengths(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lengths of documents with what stands around them."""
        return texts + (self.before + int(self.eos_id is not None))


@dataclass(frozen=True)
class Documents:
    """Where the tokens of documents lie on a device; framed ones have BOS and EOS among them.

    Token `b` of document `d` with its frame is the BOS, the id at `ids[d] + 4 * (b - before)`, or
    the EOS, by `text[d]`, the tokens between; where `framed[d]`, it is the id at `ids[d] + 4 * b`.
    """

    ids: NDArray[np.uint64]  # addresses
    text: NDArray[np.int64]
    framed: NDArray[np.bool_]

    @staticmethod
    def of_batch(address: int, offsets: NDArray[np.int64]) -> Documents:
        """Return the documents of a batch whose ids begin at an address."""
        begins = np.asarray(offsets[:-1], np.uint64) * np.uint64(_ID_BYTES)
        count = len(begins)
        return Documents(begins + np.uint64(address), np.diff(offsets), np.zeros(count, np.bool_))

    @staticmethod
    def of_kept(address: int, pieces: Pieces) -> Documents:
        """Return the documents of pieces that were laid down, framed, back to back."""
        starts = np.cumsum(pieces.lengths) - pieces.lengths
        first = (starts - pieces.begins) * _ID_BYTES + address
        count = len(starts)
        return Documents(
            first.astype(np.uint64), np.full(count, _ENDLESS), np.ones(count, np.bool_)
        )

    def and_then(self, others: Documents) -> Documents:
        """Return these and, behind them, others."""
        return Documents(
            np.concatenate((self.ids, others.ids)),
            np.concatenate((self.text, others.text)),
            np.concatenate((self.framed, others.framed)),
        )

    def __getitem__(self, part: slice) -> Documents:
        return Documents(self.ids[part], self.text[part], self.framed[part])

    def __len__(self) -> int:
        return len(self.ids)


NO_DOCUMENTS = Documents(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.bool_))


@dataclass(frozen=True)
class RowOptions:
    """Which columns to make of rows of `width` tokens, and how: as PackedDataset has it."""

    width: int
    columns: tuple[str, ...] = ("input_ids", "labels")
    dtype: str = "int64"
    pad_id: int = 0
    shifted_labels: bool = False
    ignore_index: int = -100
    continue_positions: bool = False

    def __post_init__(self) -> None:
        wrong = [name for name in self.columns if name not in COLUMNS]
        if wrong or not self.columns:
            expected = ", ".join(map(repr, COLUMNS))
            problem = f"expected a list of {expected}, got {list(self.columns)!r}"
            raise OptionError(problem, where="columns")
        if self.dtype not in DTYPES:
            problem = f"expected one of {', '.join(map(repr, DTYPES))}, got {self.dtype!r}"
            raise OptionError(problem, where="dtype")


@dataclass(frozen=True)
class DeviceRows:
    """Rows as tables on a device, each of `len(rows)` lines; `rows["input_ids"]` is a column.

    Columns are arrays of the device with `__dlpack__`: `torch.from_dlpack` takes them without a
    copy. "cu_seqlens" are those of all rows, back to back; the padding of a row is a piece by
    itself. `pieces`, on the host, says which documents the tokens are of.
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
        """The longest piece, as variable-length attention wants to know it; padding counts."""
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
        """Yield `rows` rows at a time; the last batch has what is left."""
        for begin in range(0, len(self), rows):
            yield self.some_rows(begin, min(begin + rows, len(self)))


def make_rows(
    backend: RowBackend, documents: Documents, pieces: Pieces, frame: Frame, options: RowOptions
) -> DeviceRows:
    """Make the columns of rows that a packer has planned."""
    shape = (pieces.rows, options.width)
    columns: dict[str, Any] = {}
    for name in options.columns:
        dtype = "int32" if name == "segment_ids" else options.dtype
        if name != "cu_seqlens":
            columns[name] = backend.empty(shape[0] * shape[1], np.dtype(dtype))
    numbers = _piece_numbers(documents, pieces, frame, options)
    settings = {
        "places": shape[0] * shape[1],
        "pad": options.pad_id,
        "ignore": options.ignore_index % 2**64,
        "options": _WIDE * (options.dtype == "int64") + _SHIFTED * options.shifted_labels,
    }
    _launch(backend, numbers, columns, frame, settings)
    tables = {name: column.reshape(shape) for name, column in columns.items()}
    if "cu_seqlens" in options.columns:
        tables["cu_seqlens"] = backend.asarray(cu_seqlens(pieces, options.width))
    ordered = {name: tables[name] for name in options.columns}
    return DeviceRows(ordered, pieces, options.width, backend)


def keep(
    backend: RowBackend, documents: Documents, pieces: Pieces, frame: Frame
) -> tuple[Documents, Any]:
    """Copy the tokens of pieces, each of which becomes a document, out of memory of others.

    The array that is returned holds them: it must live as long as the documents.
    """
    tokens = int(pieces.lengths.sum())
    array = backend.empty(tokens, np.dtype(np.int32))
    if tokens:
        options = RowOptions(tokens, ("input_ids",), "int32")
        flat = type(pieces)(
            pieces.documents, pieces.begins, pieces.lengths, np.array([0, len(pieces.lengths)])
        )
        numbers = _piece_numbers(documents, flat, frame, options)
        _launch(backend, numbers, {"input_ids": array}, frame, {"places": tokens})
    return Documents.of_kept(backend.address(array), pieces), array


def _piece_numbers(
    documents: Documents, pieces: Pieces, frame: Frame, options: RowOptions
) -> dict[str, NDArray[Any]]:
    """Return what the kernel is told of every piece."""
    starts = np.cumsum(pieces.lengths) - pieces.lengths
    counts = np.diff(pieces.row_pieces)
    firsts = np.repeat(pieces.row_pieces[:-1], counts)  # per piece: the first one of its row
    rows = np.repeat(np.arange(pieces.rows), counts)
    owners = pieces.documents
    begins = pieces.begins
    return {
        "piece_place": starts - starts[firsts] + rows * options.width,
        "piece_length": pieces.lengths,
        "piece_frame": begins + np.where(documents.framed[owners], frame.before, 0),
        "piece_text": documents.text[owners],
        "piece_ids": documents.ids[owners],
        "piece_position": begins if options.continue_positions else np.zeros_like(begins),
        "piece_segment": np.arange(len(firsts)) - firsts + 1,
    }


def _launch(
    backend: RowBackend,
    numbers: Mapping[str, NDArray[Any]],
    columns: Mapping[str, Any],
    frame: Frame,
    settings: Mapping[str, int],
) -> None:
    count = len(numbers["piece_place"])
    if not count:
        return
    table = backend.asarray(np.concatenate([n.astype(np.uint64) for n in numbers.values()]))
    first = backend.address(table)
    struct = fill(
        ROWS,
        {
            "pieces": count,
            **{name: first + 8 * count * i for i, name in enumerate(numbers)},
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
    """Return offsets of documents on the host, wherever they are: lengths decide about rows."""
    is_here = type(offsets) in (np.ndarray, list)  # a device may have a kind of its own
    return np.asarray(offsets if is_here else backend.to_host(offsets), np.int64)


def check_ids(ids: Any) -> None:  # an array of the device
    """Refuse ids that are not of four bytes."""
    if str(ids.dtype) not in ("int32", "uint32"):
        raise OptionError(f"expected int32 or uint32, got {ids.dtype}", where="ids")
