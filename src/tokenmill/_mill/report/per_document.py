"""A number for each document: in memory, or in a temporary file if there are very many."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_IN_MEMORY = 16_000_000  # documents
SLICE = 4_000_000  # documents that are looked at together


def per_document(count: int, dtype: Any) -> NDArray[Any]:
    """Return zeros; more of them than fit in memory are mapped, so the system can drop pages."""
    if count <= _IN_MEMORY:
        return np.zeros(count, dtype)
    with tempfile.TemporaryFile() as file:  # the mapping keeps it until the array is gone
        return np.asarray(np.memmap(file, dtype, "w+", shape=(count,)))


def slices(count: int) -> Iterator[slice]:
    """Yield slices of all documents."""
    for begin in range(0, count, SLICE):
        yield slice(begin, min(begin + SLICE, count))
