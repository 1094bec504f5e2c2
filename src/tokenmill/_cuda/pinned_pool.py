"""Pinned memory for results that stay on the host: lent to the caller, and used again after it.

Ids arrive in pinned memory without the help of a CPU, three times as fast as in memory that is new.
But making it takes a millisecond for each megabyte or two, so large results get it only when such
a result was wanted before, and a result that nobody needs any more makes room for the next.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._platform.memory import physical_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import DeviceBackend

EAGER = 32 << 20  # bytes: memory for smaller results is made at once
_LEAST = 1 << 16
_SHARE = 8  # of the memory of the machine: no more than this part of it is pinned
_WASTE = 4  # a result may take memory that is this much larger


class PinnedPool:
    """Memory for results. One thread at a time may take; any thread may return."""

    def __init__(self, backend: DeviceBackend, most_bytes: int | None = None) -> None:
        self._backend = backend
        self._most = _share_of_memory() if most_bytes is None else most_bytes
        self._free: list[NDArray[np.uint8]] = []
        self._returned: deque[NDArray[np.uint8]] = deque()  # filled while garbage is collected
        self._made = 0  # bytes, lent and free
        self._missed: set[int] = set()

    def take(self, size: int) -> NDArray[np.uint8] | None:
        """Return memory for `size` bytes, or None: then memory of another kind will do."""
        while self._returned:
            self._free.append(self._returned.popleft())
        wanted = rounded(size)
        fitting = [slab for slab in self._free if wanted <= slab.size <= _WASTE * wanted]
        if fitting:
            slab = min(fitting, key=lambda slab: slab.size)
            self._free = [other for other in self._free if other is not slab]
            return self._lend(slab)
        if wanted > EAGER and wanted not in self._missed:
            self._missed.add(wanted)
            return None
        self._make_room(wanted)
        if self._made + wanted > self._most:
            return None
        self._made += wanted
        return self._lend(self._backend.pinned(wanted, np.uint8))

    def _make_room(self, size: int) -> None:
        """Give up memory that is not in use, as far as the limit asks for it."""
        while self._free and self._made + size > self._most:
            self._made -= self._free.pop(0).size

    def _lend(self, slab: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return an array over the memory, which comes back when all views of it are gone."""
        # Of a memoryview: views of an array that is a view itself would refer to the slab instead.
        lent = np.frombuffer(slab.data, np.uint8)
        weakref.finalize(lent, self._returned.append, slab).atexit = False
        return lent


def rounded(size: int) -> int:
    """Return a size that fits many results: at most an eighth more.

    1 -> 65536; 70_000 -> 73728; 1_100_000 -> 1179648
    """
    step = 1 << max(size.bit_length() - 4, 0)
    return max(-(-size // step) * step, _LEAST)


def _share_of_memory() -> int:
    return (physical_bytes() or 0) // _SHARE
