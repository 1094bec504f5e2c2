"""What the workers of a run ask of a device, and several devices as one."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._mill.device.line_lanes import RawJob
    from tokenmill._mill.device.raw_encoder import EncodedRaw
    from tokenmill._read import RawBlock, ReadRules


class BlockDevice(Protocol):
    """Encodes the blocks of many workers."""

    @property
    def fallbacks(self) -> Counter[str]:
        """Documents that the CPU engine encoded instead, by reason."""

    @property
    def left_to_reader(self) -> int:
        """Blocks of JSONL that the CPU read, because the device was not sure about a line."""

    @property
    def is_open(self) -> bool:
        """Whether it can be used, as far as that is known."""

    @property
    def blocks_before(self) -> int:
        """Blocks that the CPU encoded while the device was opened."""

    @property
    def spent(self) -> Counter[str]:
        """Seconds of workers by step of native calls; and `blocks`, and those read `in_place`."""

    def takes_block(self) -> bool:
        """Return whether the next block is for the device; else the CPU has to encode it."""

    @property
    def has_free_lane(self) -> bool:
        """Whether a raw block would be encoded at once, while memory for others is being made."""

    def prepare_raw(self, job: RawJob) -> None:
        """Make what raw blocks need on the device, so that the first of them need not wait."""

    def lent_memory(self) -> AbstractContextManager[NDArray[np.uint8] | None]:
        """Lend memory for the next block of this thread, which saves a copy; None: there is none.

        What is in it must not be needed afterwards.
        """

    def encode_raw(
        self,
        raw: RawBlock,
        rules: ReadRules,
        fields: Sequence[str],
        around: tuple[list[int], list[int]],
        *,
        dtype: str,
        special_in_text: str,
    ) -> EncodedRaw | None:
        """Return the ids of a raw block that the device reads; None if the host must parse it."""

    def encode(
        self,
        text: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        dtype: str,
        special_in_text: str,
    ) -> TokenBatch:
        """Return the ids of flat texts, on the host."""


class SeveralDevices:
    """Gives each block to the device that has the fewest at that moment."""

    blocks_before, is_open = 0, True

    def __init__(self, devices: Sequence[BlockDevice]) -> None:
        self.devices = tuple(devices)
        self._busy = [0] * len(devices)
        self._lock = threading.Lock()

    @property
    def fallbacks(self) -> Counter[str]:
        """Documents that the CPU engine encoded instead, by reason."""
        return sum((device.fallbacks for device in self.devices), Counter())

    @property
    def left_to_reader(self) -> int:
        """Blocks of JSONL that the CPU read, because a device was not sure about a line."""
        return sum(device.left_to_reader for device in self.devices)

    @property
    def spent(self) -> Counter[str]:
        """Seconds of workers by step of native calls; and `blocks`, and those read `in_place`."""
        return sum((device.spent for device in self.devices), Counter())

    def takes_block(self) -> bool:
        """Return whether the next block is for a device: always."""
        return True

    @property
    def has_free_lane(self) -> bool:
        """Whether a raw block would be encoded at once on any device."""
        return all(device.has_free_lane for device in self.devices)

    def prepare_raw(self, job: RawJob) -> None:
        """Make what raw blocks need on each device."""
        for device in self.devices:
            device.prepare_raw(job)

    @staticmethod
    def lent_memory() -> AbstractContextManager[None]:
        """Lend none: which device has the next block is not known before it is read."""
        return nullcontext()

    def encode_raw(self, *block: Any, **options: Any) -> EncodedRaw | None:
        """Return the ids of a raw block that a device reads; None if the host must parse it."""
        with self._next() as device:
            return device.encode_raw(*block, **options)

    def encode(self, *texts: Any, **options: Any) -> TokenBatch:
        """Return the ids of flat texts, on the host."""
        with self._next() as device:
            return device.encode(*texts, **options)

    @contextmanager
    def _next(self) -> Iterator[BlockDevice]:
        with self._lock:
            number = min(range(len(self._busy)), key=self._busy.__getitem__)
            self._busy[number] += 1
        try:
            yield self.devices[number]
        finally:
            with self._lock:
                self._busy[number] -= 1
