"""The ids of pieces out of the parts that hold them, back to back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._pack import gather

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._pipeline.parts import Part

_MAPPED_PARTS = 4


def collect(
    parts: Sequence[Part],
    part_of: NDArray[np.int64],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int64],
    dtype: str,
) -> NDArray[Any]:
    """Return `lengths[i]` ids from `begins[i]` of part `part_of[i]`, for all i, one after another.

    In the order of the plan a few parts are mapped. Shuffled pieces come from all parts, and each
    is read by itself: mapping as many files for each batch takes longer than the work.
    """
    used, source = np.unique(part_of, return_inverse=True)
    out = np.empty(int(lengths.sum()), dtype)
    if len(used) <= _MAPPED_PARTS:
        gather([parts[i].ids() for i in used], source, begins, lengths, out)
        return out
    view, size = out.data.cast("B"), out.itemsize
    ends = np.cumsum(lengths) * size
    order = np.argsort(source, kind="stable")
    borders = np.searchsorted(source[order], np.arange(len(used) + 1))
    for part, first, last in zip(used, borders[:-1], borders[1:], strict=True):
        some = order[first:last]
        _read_pieces(parts[part], view, ends[some], begins[some] * size, lengths[some] * size)
    return out


def _read_pieces(
    part: Part,
    view: memoryview,
    ends: NDArray[np.int64],
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Read pieces of one part to where they end in the view; all in bytes."""
    with part.path.open("rb", buffering=0) as file:
        handle = file.fileno()
        for end, place, size in zip(ends.tolist(), places.tolist(), sizes.tolist(), strict=True):
            begin = end - size
            while begin < end:
                got = os.preadv(handle, [view[begin:end]], place + size - (end - begin))
                if got == 0:
                    raise CorruptShard("cut short while it was read", path=part.path)
                begin += got
