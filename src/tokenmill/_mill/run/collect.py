"""The ids of pieces, copied out of the parts that hold them."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._pack import gather

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._mill.output.parts import Part

_MAPPED_BYTES = 32 << 20


def collect(
    parts: Sequence[Part],
    part_of: NDArray[np.int64],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int64],
    dtype: str,
) -> NDArray[Any]:
    """Return `lengths[i]` ids from `begins[i]` of part `part_of[i]`, for all i, one after another.

    Pieces that are close together, such as in the order of the plan, are copied out of mapped
    files. Others are read one by one: each batch would map many parts, which takes longer than
    the copy itself, and would touch most of their pages, which count as memory.
    """
    used, source = np.unique(part_of, return_inverse=True)
    order = np.argsort(source, kind="stable")
    borders = np.searchsorted(source[order], np.arange(len(used) + 1)).tolist()
    groups = [order[a:b] for a, b in pairwise(borders)]
    out = np.empty(int(lengths.sum()), dtype)
    if sum(_span(begins[some], lengths[some]) for some in groups) * out.itemsize <= _MAPPED_BYTES:
        gather([parts[i].ids() for i in used], source, begins, lengths, out)
        return out
    view, size = out.data.cast("B"), out.itemsize
    ends = np.cumsum(lengths) * size
    for part, some in zip(used, groups, strict=True):
        _read_pieces(parts[part], view, ends[some], begins[some] * size, lengths[some] * size)
    return out


def _span(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> int:
    return int((begins + lengths).max() - begins.min())


def _read_pieces(
    part: Part,
    view: memoryview,
    ends: NDArray[np.int64],
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Read pieces of one part into the view, up to `ends`; all numbers are bytes."""
    with part.path.open("rb", buffering=0) as file:
        handle = file.fileno()
        for end, place, size in zip(ends.tolist(), places.tolist(), sizes.tolist(), strict=True):
            begin = end - size
            while begin < end:
                got = os.preadv(handle, [view[begin:end]], place + size - (end - begin))
                if got == 0:
                    raise CorruptShard("became shorter while it was read", path=part.path)
                begin += got
