"""TokenBatch: the ids of many texts as one flat array, and where each text begins in it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tokenmill._errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_SHOWN = 3


class TokenBatch:
    """Rows of ids. Row `i` is `ids[offsets[i]:offsets[i + 1]]`.

    `ids` is uint32 or uint16; `offsets` is int64, one longer than the batch, and begins with 0.
    Indexing returns views, not copies.
    """

    __slots__ = ("ids", "offsets")

    ids: NDArray[Any]
    offsets: NDArray[np.int64]

    def __init__(self, ids: NDArray[Any], offsets: NDArray[np.int64]) -> None:
        self.ids = ids
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> TokenBatch: ...
    def __getitem__(self, index: int | slice) -> NDArray[Any] | TokenBatch:
        """Return one row as a view, or a slice of rows as a batch (a view where step is 1)."""
        if isinstance(index, slice):
            return self._slice(*index.indices(len(self)))
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"row {index} of a batch of {len(self)}")
        return self.ids[self.offsets[position] : self.offsets[position + 1]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        bounds = self.offsets.tolist()
        for begin, end in pairwise(bounds):
            yield self.ids[begin:end]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenBatch):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content may be written

    def tolist(self) -> list[list[int]]:
        """Return the rows as lists of Python ints."""
        flat = self.ids.tolist()
        bounds = self.offsets.tolist()
        return [flat[begin:end] for begin, end in pairwise(bounds)]

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Export as an Arrow large_list array without copying (needs pyarrow)."""
        try:
            import pyarrow as pa  # noqa: PLC0415 -- import tokenmill stays light
        except ImportError as error:
            raise MissingDependency(
                "Arrow export needs this package, which is not installed",
                name="pyarrow",
                hint="pip install pyarrow, or use .ids and .offsets",
            ) from error
        array = pa.LargeListArray.from_arrays(pa.array(self.offsets), pa.array(self.ids))
        capsules: tuple[object, object] = array.__arrow_c_array__(requested_schema)
        return capsules

    def __repr__(self) -> str:
        shown = [row.tolist() for row in self[:_SHOWN]]
        rows = ", ".join(
            f"[{', '.join(map(str, row[:_SHOWN]))}{', ...' * (len(row) > _SHOWN)}]" for row in shown
        )
        more = ", ..." if len(self) > _SHOWN else ""
        return f"TokenBatch({len(self)} rows, {len(self.ids)} {self.ids.dtype} ids: [{rows}{more}])"

    def _slice(self, start: int, stop: int, step: int) -> TokenBatch:
        if step == 1:
            stop = max(start, stop)
            offsets = self.offsets[start : stop + 1]
            return TokenBatch(self.ids[offsets[0] : offsets[-1]], offsets - offsets[0])
        rows = [self[i] for i in range(start, stop, step)]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        ids = np.concatenate(rows) if rows else self.ids[:0]
        return TokenBatch(ids, offsets)
