"""What the mill and the row dataset ask of a device that tokenizes, and how one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tokenmill._errors import MissingDependency

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._cuda.rows import RowBackend
    from tokenmill._tokenizer import Tokenizer


class DeviceEncoder(Protocol):
    """A tokenizer on a device. Text is flat: document `i` is `text[offsets[i]:offsets[i + 1]]`."""

    @property
    def backend(self) -> RowBackend:
        """What runs kernels on the device."""

    @property
    def name(self) -> str:
        """The device, for people."""

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


def open_encoder(tokenizer: Tokenizer, device: int = 0) -> DeviceEncoder:
    """Open a device for a tokenizer; raises with the reason where that cannot be."""
    try:
        import cupy  # noqa: F401, PLC0415 -- import tokenmill stays light
    except ImportError as error:
        raise MissingDependency(
            "the package is not installed", name="cupy", hint="pip install 'tokenmill[cuda13]'"
        ) from error
    raise NotImplementedError
