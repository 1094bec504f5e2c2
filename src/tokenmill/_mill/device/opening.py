"""A device that is opened while workers run: the CPU encodes their blocks until it is ready."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._mill.device.block_device import BlockDevice
    from tokenmill._mill.device.line_lanes import RawJob
    from tokenmill._mill.device.raw_encoder import EncodedRaw


# Opening a device takes three times as long while all processors and the memory are busy, and in
# that time the device alone would have done more. So some workers wait for it, but not for long.
HELPING = 2  # one worker in so many encodes on the CPU
PATIENCE = 1.5  # seconds
_MOMENT = 0.02  # seconds: one that an earlier run has left open is there at once


class OpeningDevice:
    """Opens a device in a thread; `blocks_before` were encoded without it.

    Meanwhile one in `HELPING` of the workers encodes on the CPU, and the others wait, for at most
    `PATIENCE`. If it cannot be opened, the first block after that raises the reason. When it is
    open, `prepare` makes what else it needs, while it may be used already.
    """

    def __init__(
        self,
        open_device: Callable[[], BlockDevice],
        prepare: Callable[[BlockDevice], None],
        workers: int = 1,
    ) -> None:
        self._most_helpers = max(1, workers // HELPING)
        self._helpers: set[int] = set()  # threads
        self._waited_until = time.monotonic() + PATIENCE
        thread = ThreadPoolExecutor(1, "tokenmill-open-device")
        self._opened = thread.submit(open_device)
        self._prepared = thread.submit(lambda: prepare(self._device))
        thread.shutdown(wait=False)
        wait([self._prepared], _MOMENT)
        self._lock = threading.Lock()
        self.blocks_before = 0

    @property
    def fallbacks(self) -> Counter[str]:
        """Documents that the CPU engine encoded instead, by reason."""
        return self._device.fallbacks if self.is_open else Counter()

    @property
    def left_to_reader(self) -> int:
        """Blocks of JSONL that the CPU read, because the device was not sure about a line."""
        return self._device.left_to_reader if self.is_open else 0

    @property
    def spent(self) -> Counter[str]:
        """Seconds of workers by step of native calls; and `blocks`, and those read `in_place`."""
        return self._device.spent if self.is_open else Counter()

    def takes_block(self) -> bool:
        """Return whether the next block is for the device; else the CPU has to encode it."""
        if not self._opened.done() and not self._helps():
            wait([self._opened], max(self._waited_until - time.monotonic(), 0.0))
        if self._prepared.done() or (self.is_open and self.has_free_lane):
            return True
        with self._lock:
            self.blocks_before += 1
        return False

    def _helps(self) -> bool:
        """Whether this thread encodes on the CPU until the device is open."""
        with self._lock:
            if len(self._helpers) < self._most_helpers:
                self._helpers.add(threading.get_ident())
            return threading.get_ident() in self._helpers

    @property
    def has_free_lane(self) -> bool:
        """Whether a raw block would be encoded at once, while memory for others is being made."""
        return self._device.has_free_lane

    def prepare_raw(self, job: RawJob) -> None:
        """Make what raw blocks need on the device."""
        self._device.prepare_raw(job)

    def lent_memory(self) -> AbstractContextManager[NDArray[np.uint8] | None]:
        """Lend memory for the next block of this thread, if the device is open."""
        return self._device.lent_memory() if self.is_open else nullcontext()

    def encode_raw(self, *block: Any, **options: Any) -> EncodedRaw | None:
        """Return the ids of a raw block that the device reads; None if the host must parse it."""
        return self._device.encode_raw(*block, **options)

    def encode(self, *texts: Any, **options: Any) -> TokenBatch:
        """Return the ids of flat texts, on the host."""
        return self._device.encode(*texts, **options)

    @property
    def is_open(self) -> bool:
        """Whether it can be used, as far as that is known."""
        return self._opened.done() and self._opened.exception() is None

    @property
    def _device(self) -> BlockDevice:
        return self._opened.result()
