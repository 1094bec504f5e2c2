"""Code points -> numbered classes: two in one class belong to the same character sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokenmill._compile.char_sets import LIMIT, CharSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

_SURROGATES = (0xD800, 0xE000)


class Classes:
    """A partition of all code points such that every given set is a union of classes."""

    def __init__(self, sets: Iterable[CharSet]) -> None:
        wanted = list(dict.fromkeys(sets))
        edges = [edge for chars in wanted for pair in chars for edge in pair]
        bounds = np.unique(np.array([0, *_SURROGATES, LIMIT, *edges], dtype=np.int64))
        members = np.zeros((len(wanted) + 1, len(bounds) - 1), dtype=bool)
        for row, chars in zip(members, wanted, strict=False):
            row[:] = _membership(chars, bounds)
        _hide_surrogates(members, bounds)
        columns, first, inverse = np.unique(members, axis=1, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.argsort(order)
        self.bounds = bounds
        self.of_segment: npt.NDArray[np.int64] = rank[inverse.reshape(-1)]
        self.count = len(order)
        self._members: dict[CharSet, npt.NDArray[np.bool_]] = dict(
            zip(wanted, columns[:, order], strict=False)
        )

    def in_set(self, chars: CharSet) -> npt.NDArray[np.bool_]:
        """For every class whether it lies in the set, which must be one of those given."""
        return self._members[chars]

    def ranges(self, renumber: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        """Rows (begin, end, renumber[class]) that cover all code points, as few as possible."""
        numbers = renumber[self.of_segment]
        return merge_ranges(self.bounds, numbers)


def merge_ranges(
    bounds: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    """Rows (begin, end, number), neighbours with the same number joined."""
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    ends = np.append(starts[1:], len(numbers))
    rows = np.stack([bounds[starts], bounds[ends], numbers[starts]], axis=1)
    return rows.astype(np.uint32)


def _membership(chars: CharSet, bounds: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    steps = np.zeros(len(bounds), dtype=np.int64)
    pairs = np.array(chars, dtype=np.int64).reshape(-1, 2)
    steps[np.searchsorted(bounds, pairs[:, 0])] += 1
    steps[np.searchsorted(bounds, pairs[:, 1])] -= 1
    return np.cumsum(steps)[:-1] > 0


def _hide_surrogates(members: npt.NDArray[np.bool_], bounds: npt.NDArray[np.int64]) -> None:
    """No text holds surrogates: they join the class before them and ask for none of their own."""
    begin, end = np.searchsorted(bounds, _SURROGATES)
    members[:, begin:end] = members[:, begin - 1 : begin]
