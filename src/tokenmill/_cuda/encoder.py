"""What the mill and the row dataset ask of a device that tokenizes, and how one is opened."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

from tokenmill._cuda.texts import FlatTexts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._cuda.gpu_tokenizer import GpuTokenizer
    from tokenmill._cuda.rows import RowBackend


class DeviceEncoder(Protocol):
    """A tokenizer on a device. Text is flat: document `i` is `text[offsets[i]:offsets[i + 1]]`."""

    @property
    def backend(self) -> RowBackend:
        """What runs kernels on the device."""

    @property
    def name(self) -> str:
        """The device, for people."""

    @property
    def fallbacks(self) -> Counter[str]:
        """Documents that the CPU engine encoded in the device's place, so far, by reason."""

    def encode_flat(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], *, special_in_text: str
    ) -> tuple[Any, Any]:
        """Return ids (of four bytes) and offsets; the ids stay on the device."""

    def encode_host(
        self,
        text: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        dtype: str,
        special_in_text: str,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return ids ("uint16" or "uint32") and offsets on the host."""


class GpuEncoder:
    """A GpuTokenizer as a DeviceEncoder, with an account of its own."""

    def __init__(self, tokenizer: GpuTokenizer) -> None:
        self._tokenizer = tokenizer
        self.fallbacks: Counter[str] = Counter()

    @property
    def backend(self) -> RowBackend:
        """What runs kernels on the device."""
        return self._tokenizer.backend

    @property
    def name(self) -> str:
        """The device, for people."""
        return self._tokenizer.device

    def encode_flat(
        self,
        text: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        special_in_text: Any,
    ) -> tuple[Any, Any]:
        """Return ids and offsets on the device."""
        batch = self._tokenizer.encode_batch(
            FlatTexts(text, offsets), special_in_text=special_in_text
        )
        self.fallbacks.update(batch.fallbacks)
        return batch.ids, batch.offsets

    def encode_host(
        self,
        text: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        dtype: Any,
        special_in_text: Any,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return ids and offsets on the host."""
        batch = self._tokenizer.encode_batch(
            FlatTexts(text, offsets), dtype=dtype, special_in_text=special_in_text, output="host"
        )
        self.fallbacks.update(batch.fallbacks)
        return batch.ids, batch.offsets


def open_encoder(tokenizer: object, device: int = 0) -> DeviceEncoder:
    """Open a device for a tokenizer; DeviceError says why where that cannot be."""
    from tokenmill._cuda.choose import opened  # takes a moment

    return GpuEncoder(opened(tokenizer, device))
