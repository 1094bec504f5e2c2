"""Results: EncodedBatch, rows of ids as models take them. Plain ids need none of this."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tokenmill._calls.batch import or_empty
from tokenmill._errors import MissingDependency, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tokenmill._stats import RunStats

# What models call the columns.
_MODEL_NAMES = {
    "ids": "input_ids",
    "type_ids": "token_type_ids",
    "special_mask": "special_tokens_mask",
    "attention_mask": "attention_mask",
}


@dataclass(frozen=True, eq=False)
class EncodedRow:
    """One row of an EncodedBatch, as views; None for what was not asked for.

    `sample` is the number of the text that the row comes from.
    """

    ids: NDArray[Any]
    type_ids: NDArray[Any] | None
    special_mask: NDArray[Any] | None
    attention_mask: NDArray[Any] | None
    sample: int
    spans: NDArray[Any] | None = None


class EncodedBatch:
    """Rows of tokens as a model wants them: ids, and what else was asked for, in equal shapes.

    With padding every column is a table, `ids[row, place]`; without, it is flat, and row `i` is
    `ids[offsets[i]:offsets[i + 1]]`. `overflow_to_sample[row]` is the number of the text that a
    row comes from, where windows that overflow were asked for. `stats` are the counters of the
    call. What was not asked for is None.
    """

    __slots__ = ("columns", "offsets", "overflow_to_sample", "stats")

    columns: Mapping[str, NDArray[Any]]
    offsets: NDArray[np.int64]
    overflow_to_sample: NDArray[np.int64] | None
    stats: RunStats | None

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        offsets: NDArray[np.int64],
        overflow_to_sample: NDArray[np.int64] | None = None,
    ) -> None:
        self.columns = columns
        self.offsets = offsets
        self.overflow_to_sample = overflow_to_sample
        self.stats = None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.offsets.nbytes + sum(column.nbytes for column in self.columns.values())

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of the tokens."""
        return self.columns["ids"]

    @property
    def type_ids(self) -> NDArray[Any] | None:
        """Type of each token, from the tokenizer's template."""
        return self.columns.get("type_ids")

    @property
    def special_mask(self) -> NDArray[Any] | None:
        """1 for tokens that were put around the texts and for padding, 0 for those of a text."""
        return self.columns.get("special_mask")

    @property
    def attention_mask(self) -> NDArray[Any] | None:
        """0 for padding, 1 for all other tokens."""
        return self.columns.get("attention_mask")

    @property
    def spans(self) -> NDArray[Any] | None:
        """(begin, end) of each token in its text; (0, 0) for special tokens and padding."""
        return self.columns.get("spans")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> EncodedRow: ...
    @overload
    def __getitem__(self, index: slice) -> EncodedBatch: ...
    def __getitem__(self, index: int | slice) -> EncodedRow | EncodedBatch:
        """Return one row, or a slice of rows as a batch (views where step is 1)."""
        if isinstance(index, slice):
            return self._slice(index)
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"row {index} of a batch of {len(self)}")
        samples = self.overflow_to_sample
        return EncodedRow(
            self._row(self.ids, position),
            self._row(self.type_ids, position),
            self._row(self.special_mask, position),
            self._row(self.attention_mask, position),
            position if samples is None else int(samples[position]),
            self._row(self.spans, position),
        )

    def __iter__(self) -> Iterator[EncodedRow]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EncodedBatch):
            return NotImplemented
        return (
            self.columns.keys() == other.columns.keys()
            and np.array_equal(self.offsets, other.offsets)
            and all(
                np.array_equal(self.columns[name], other.columns[name]) for name in self.columns
            )
            and np.array_equal(
                or_empty(self.overflow_to_sample), or_empty(other.overflow_to_sample)
            )
        )

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content may be written

    def tolist(self, column: str = "ids") -> list[list[int]]:
        """Return the rows of a column as lists of Python ints."""
        values = self.columns[column].tolist()
        if self.ids.ndim > 1:
            return values  # type: ignore[no-any-return]
        return [values[begin:end] for begin, end in pairwise(self.offsets.tolist())]

    def to_numpy(self) -> dict[str, NDArray[np.int64]]:
        """Return int64 tables by the names that models use: "input_ids", "attention_mask", ..."""
        tables = {
            _MODEL_NAMES.get(name, name): self._table(column).astype(np.int64, copy=False)
            for name, column in self.columns.items()
        }
        if self.overflow_to_sample is not None:
            tables["overflow_to_sample_mapping"] = self.overflow_to_sample
        return tables

    def to_torch(self) -> dict[str, Any]:
        """Return what `to_numpy` returns as torch tensors, which share its memory."""
        try:
            import torch  # import tokenmill stays light
        except ImportError as error:
            raise MissingDependency(
                "tensors need this package, which is not installed",
                name="torch",
                hint="pip install torch, or use to_numpy",
            ) from error
        return {name: torch.from_numpy(table) for name, table in self.to_numpy().items()}

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        shape = "x".join(map(str, self.ids.shape)) if self.ids.ndim > 1 else f"{len(self.ids)}"
        return f"EncodedBatch({len(self)} rows, {shape} {self.ids.dtype} ids: {names})"

    @overload
    def _row(self, column: NDArray[Any], row: int) -> NDArray[Any]: ...
    @overload
    def _row(self, column: None, row: int) -> None: ...
    def _row(self, column: NDArray[Any] | None, row: int) -> NDArray[Any] | None:
        if column is None or self.ids.ndim > 1:
            return column if column is None else column[row]
        return column[self.offsets[row] : self.offsets[row + 1]]

    def _table(self, column: NDArray[Any]) -> NDArray[Any]:
        if self.ids.ndim > 1:
            return column
        lengths = np.diff(self.offsets)
        if len(lengths) and (lengths != lengths[0]).any():
            raise OptionError(
                f"expected rows of one length, got {lengths.min()} to {lengths.max()} tokens",
                hint="padding='longest' makes them equal",
            )
        width = int(lengths[0]) if len(lengths) else 0
        return column.reshape(len(lengths), width, *column.shape[1:])

    def _slice(self, index: slice) -> EncodedBatch:
        start, stop, step = index.indices(len(self))
        samples = self.overflow_to_sample
        rows = np.arange(start, stop, step)
        lengths = np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if self.ids.ndim > 1:
            columns = {name: column[index] for name, column in self.columns.items()}
        elif step == 1:
            flat = slice(self.offsets[start], self.offsets[max(start, stop)])
            columns = {name: column[flat] for name, column in self.columns.items()}
        else:
            places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
            columns = {name: column[places] for name, column in self.columns.items()}
        return EncodedBatch(columns, offsets, None if samples is None else samples[index])
