"""Results: TokenBatch, flat ids and where each text begins."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tokenmill._errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._stats import RunStats

_SHOWN = 3


class TokenBatch:
    """Rows of ids. Row `i` is `ids[offsets[i]:offsets[i + 1]]`.

    `ids` is uint32 or uint16; `offsets` is int64, one longer than the batch, and begins with 0.
    `spans`, if they were asked for, has a row (begin, end) for every id: the part of its text that
    it covers; the spans of row `i` are `spans[offsets[i]:offsets[i + 1]]`.
    Indexing returns views, not copies.

    `device` is what encoded it: "cpu", or e.g. "cuda:0"; `reason` explains why it was the CPU
    although a device was asked for. `stats`, if they were asked for, are the counters of the call.
    """

    __slots__ = ("device", "ids", "offsets", "reason", "spans", "stats")

    ids: NDArray[Any]
    offsets: NDArray[np.int64]
    spans: NDArray[np.uint32] | None
    device: str
    reason: str | None
    stats: RunStats | None

    def __init__(
        self,
        ids: NDArray[Any],
        offsets: NDArray[np.int64],
        spans: NDArray[np.uint32] | None = None,
        *,
        device: str = "cpu",
        reason: str | None = None,
    ) -> None:
        self.ids = ids
        self.offsets = offsets
        self.spans = spans
        self.device = device
        self.reason = reason
        self.stats = None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        spans = 0 if self.spans is None else self.spans.nbytes
        return self.ids.nbytes + self.offsets.nbytes + spans

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
        return (
            np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.ids, other.ids)
            and (self.spans is None) == (other.spans is None)
            and np.array_equal(or_empty(self.spans), or_empty(other.spans))
        )

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content may be written

    def tolist(self) -> list[list[int]]:
        """Return the rows as lists of Python ints."""
        flat = self.ids.tolist()
        bounds = self.offsets.tolist()
        return [flat[begin:end] for begin, end in pairwise(bounds)]

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Export as an Arrow large_list array without copying (needs pyarrow)."""
        try:
            import pyarrow as pa  # import tokenmill stays light
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
            part = slice(offsets[0], offsets[-1])
            spans = None if self.spans is None else self.spans[part]
            return self._with(self.ids[part], offsets - offsets[0], spans)
        rows = range(start, stop, step)
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([self.offsets[i + 1] - self.offsets[i] for i in rows], out=offsets[1:])

        def picked(column: NDArray[Any]) -> NDArray[Any]:
            parts = [column[self.offsets[i] : self.offsets[i + 1]] for i in rows]
            return np.concatenate(parts) if parts else column[:0]

        spans = None if self.spans is None else picked(self.spans)
        return self._with(picked(self.ids), offsets, spans)

    def _with(
        self, ids: NDArray[Any], offsets: NDArray[np.int64], spans: NDArray[np.uint32] | None
    ) -> TokenBatch:
        return TokenBatch(ids, offsets, spans, device=self.device, reason=self.reason)


def or_empty(array: NDArray[Any] | None) -> NDArray[Any]:
    """Return the array, or one without numbers."""
    return np.empty(0, dtype=np.int64) if array is None else array
