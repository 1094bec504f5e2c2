"""The rows of one call, in the forms that the drop-ins return: lists, matrices, parts of a row."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._post import PAD, SIDES, as_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._post import Layout, OneRow

RowPart = tuple["int | None", int]  # the text, or None for special tokens, and the length


class BatchRows:
    """The rows of many texts, or all windows of one."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.bounds = layout.offsets
        self._fields: dict[str, NDArray[np.int64]] = {}

    def widths(self) -> list[int]:
        """Return the length of each row."""
        widths: list[int] = np.diff(self.bounds).tolist()
        return widths

    def samples(self) -> list[int]:
        """Return the sample that each row comes from."""
        samples: list[int] = self.layout.rows.samples.tolist()
        return samples

    def lists(self, name: str) -> list[list[Any]]:
        """Return a field as lists; the spans of tokens are tuples."""
        flat, bounds = as_list(self._field(name)), self.bounds.tolist()
        return [flat[begin:end] for begin, end in pairwise(bounds)]

    def matrix(self, name: str) -> NDArray[np.int64] | None:
        """Return a field as a matrix; None if the rows differ in length."""
        widths = np.diff(self.bounds)
        if not len(widths) or (widths != widths[0]).any():
            return None
        flat = self._field(name)
        return flat.reshape(len(widths), int(widths[0]), *flat.shape[1:])

    def row(self, name: str, index: int) -> list[Any]:
        """Return a field of one row; the list is the caller's own."""
        return as_list(self._field(name)[self.bounds[index] : self.bounds[index + 1]])

    def width(self, index: int) -> int:
        """Return the length of one row."""
        return int(self.bounds[index + 1] - self.bounds[index])

    def lead(self, index: int) -> int:
        """Count the padding at the start of one row."""
        rows = self.layout.rows
        return int(rows.lengths[index, 0]) if rows.kinds[0] == PAD else 0

    def parts(self, index: int) -> list[RowPart]:
        """Return the parts of one row, without its padding."""
        rows = self.layout.rows
        sizes = zip(rows.kinds, rows.lengths[index].tolist(), strict=True)
        return [(None if kind > 1 else kind, size) for kind, size in sizes if kind != PAD]

    def origin(self, index: int) -> tuple[int, int]:
        """Return the sample of a row, and the number of the row within it."""
        samples = self.layout.rows.samples
        sample = samples[index]
        return int(sample), index - int(np.searchsorted(samples, sample))

    def _field(self, name: str) -> NDArray[np.int64]:
        if name not in self._fields:
            self._fields[name] = self.layout.column(name, np.int64)
        return self._fields[name]


class SingleRow:
    """The same for a call that has one row, with nothing overflowing."""

    def __init__(self, layout: OneRow) -> None:
        self.layout = layout

    def widths(self) -> list[int]:
        """Return the length of the row."""
        return [self.layout.width]

    def samples(self) -> list[int]:
        """Return the only sample."""
        return [0]

    def lists(self, name: str) -> list[list[Any]]:
        """Return a field as a list of one list."""
        return [self.layout.column(name)]

    def matrix(self, name: str) -> NDArray[np.int64]:
        """Return a field as a matrix of one row."""
        return np.array([self.layout.column(name)], dtype=np.int64)

    def row(self, name: str, _index: int = 0) -> list[Any]:
        """Return a field; the list is the caller's own."""
        return self.layout.column(name)

    def width(self, _index: int = 0) -> int:
        """Return the length of the row."""
        return self.layout.width

    def lead(self, _index: int = 0) -> int:
        """Count the padding at the start."""
        return self.layout.lead

    def parts(self, _index: int = 0) -> list[RowPart]:
        """Return the parts of the row, without its padding."""
        found: list[RowPart] = []
        for part in self.layout.parts:
            if not part.text:
                found.append((None, len(part.ids)))
                continue
            side = SIDES.index(part.text)
            begin, end = self.layout.cuts[side]
            found.append((side, end - begin))
        return found

    def origin(self, _index: int = 0) -> tuple[int, int]:
        """Return the sample, and the number of the row within it."""
        return 0, 0
