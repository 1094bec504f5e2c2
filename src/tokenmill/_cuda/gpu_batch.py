"""GpuTokenBatch: rows of ids on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokenmill._calls.batch import TokenBatch

if TYPE_CHECKING:
    from collections import Counter

    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import DeviceBackend, Mark


class GpuTokenBatch:
    """Rows of ids on a device. Row `i` is `ids[offsets[i]:offsets[i + 1]]`.

    `ids` and `offsets` (int64) are arrays on the device, which torch and CuPy use without a copy
    (`torch.from_dlpack(batch.ids)`). They are ready for work on the stream that was current during
    the call. `device` is its name; `fallbacks` counts the documents that the CPU engine encoded,
    by reason (`tokenmill.cuda.REASONS`).
    """

    __slots__ = ("_backend", "_made", "device", "fallbacks", "ids", "offsets")

    def __init__(
        self,
        backend: DeviceBackend,
        ids: Any,
        offsets: Any,
        fallbacks: Counter[str],
        made: Mark | None,  # None: on the host
    ) -> None:
        self._backend = backend
        self._made = made
        self.ids = ids
        self.offsets = offsets
        self.device = backend.name
        self.fallbacks = fallbacks

    def __len__(self) -> int:
        return int(self.offsets.size) - 1

    def to_host(self) -> TokenBatch:
        """Copy to the host; ids are unsigned there, like in any TokenBatch."""
        ids, offsets = map(self._to_host, (self.ids, self.offsets))
        unsigned = ids.view(np.uint32) if ids.dtype == np.int32 else ids
        return TokenBatch(unsigned, offsets, device=self.device)

    def _to_host(self, array: Any) -> NDArray[Any]:
        if not self._backend.is_own(array):
            return cast("NDArray[Any]", array)  # output="host"
        with self._backend.using(None):
            if self._made is not None:
                self._backend.wait(self._made)  # another stream may be current by now
            return self._backend.to_host(array)

    def __repr__(self) -> str:
        size, dtype = int(self.ids.size), self.ids.dtype
        return f"GpuTokenBatch({len(self)} rows, {size} {dtype} ids on {self.device})"
