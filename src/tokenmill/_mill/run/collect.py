"""The ids of pieces, read from the parts that hold them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import _core
from tokenmill._errors import CorruptShard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._mill.output.parts import Part

_OPEN_FILES = 64  # at once: the system limits them, and every worker has its own


def collect(
    parts: Sequence[Part],
    part_of: NDArray[np.int64],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int64],
    dtype: str,
) -> NDArray[Any]:
    """Return `lengths[i]` ids from `begins[i]` of part `part_of[i]`, for all i, one after another.

    Pieces that follow each other in a part are read at once. Nothing is mapped: the pages that a
    copy touches would count as memory, and cost more than reading them into memory in use.
    """
    used, source = np.unique(part_of, return_inverse=True)
    source = source.astype(np.int32)
    ends = np.cumsum(lengths)
    at = ends - lengths
    out = np.empty(int(ends[-1]) if len(ends) else 0, dtype)
    for first in range(0, len(used), _OPEN_FILES):
        some = [parts[i] for i in used[first : first + _OPEN_FILES]]
        if len(used) <= _OPEN_FILES:
            _read(some, (source, begins, lengths, at), out)
        else:
            which = (source >= first) & (source < first + len(some))
            _read(some, (source[which] - first, begins[which], lengths[which], at[which]), out)
    return out


def _read(parts: Sequence[Part], pieces: tuple[NDArray[Any], ...], out: NDArray[Any]) -> None:
    """Read pieces of some parts: the part of each, its begin and length in it, its place in out."""
    files: list[int] = []
    try:
        files += (os.open(part.path, os.O_RDONLY) for part in parts)
        source, error = _core.read_pieces(files, *map(np.ascontiguousarray, pieces), out)
    finally:
        for file in files:
            os.close(file)
    if error:
        raise OSError(error, os.strerror(error), str(parts[source].path))
    if source >= 0:
        raise CorruptShard("became shorter while it was read", path=parts[source].path)
