"""Tokenizing and packing on CUDA devices: text in, ids and rows on the device out.

`GpuTokenizer` is a tokenizer on one device, with the ids of the CPU engine, `GpuTokenizers` on
several. `GpuRowDataset` yields batches of packed rows from text files to a training loop, and
`DeviceRowPacker` packs ids that are on a device already. `REASONS` explains why a device does not
do the work, for a whole call or for one document. Creating a tokenizer on a device imports CuPy,
GpuRowDataset imports PyTorch; this module imports neither.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.gpu_batch import GpuTokenBatch
from tokenmill._cuda.options import DeviceOptions
from tokenmill._cuda.reasons import DOCUMENT, WHOLE
from tokenmill._cuda.row_packer import DeviceRowPacker
from tokenmill._cuda.rows import DeviceRows
from tokenmill._cuda.several import DeviceTokenizers, GpuTokenBatches
from tokenmill._cuda.texts import FlatTexts
from tokenmill._errors import OptionError
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._mill.device.rows import DeviceRowStream as GpuRowDataset
    from tokenmill._model.ready import Ready

__all__ = [
    "REASONS",
    "DeviceRowPacker",
    "DeviceRows",
    "FlatTexts",
    "GpuRowDataset",
    "GpuTokenBatch",
    "GpuTokenBatches",
    "GpuTokenizer",
    "GpuTokenizers",
]

REASONS = {name: text.what for name, text in {**WHOLE, **DOCUMENT}.items()}


class GpuTokenizer(DeviceTokenizer):
    """A tokenizer on a CUDA device, with the ids of the CPU engine.

    `batch_bytes` is how much text is encoded at a time. The word table has 2 ** `table_bits`
    entries of 32 bytes and learns new words if `learn` is true; it changes only the speed.
    `max_memory` limits the device memory for encoding, not counting tables and results; documents
    that do not fit are encoded by the CPU engine. DeviceError if the device cannot be used.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        device: int = 0,
        *,
        batch_bytes: int = 256 << 20,
        learn: bool = True,
        table_bits: int = 21,
        max_memory: int | None = None,
    ) -> None:
        options = DeviceOptions(batch_bytes, learn, table_bits, max_memory)
        super().__init__(_ready(tokenizer), device, options)


class GpuTokenizers(DeviceTokenizers):
    """A tokenizer on several devices. `options` are those of GpuTokenizer, and go to each."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        devices: Sequence[int] = (0,),
        **options: Any,
    ) -> None:
        super().__init__([GpuTokenizer(tokenizer, device, **options) for device in devices])


def _ready(tokenizer: object) -> Ready:
    if not isinstance(tokenizer, Tokenizer):
        problem = f"expected a tokenmill.Tokenizer, got {type(tokenizer).__name__}"
        raise OptionError(f"tokenizer: {problem}", hint="Tokenizer.load makes one")
    return tokenizer.ready


def __getattr__(name: str) -> object:
    if name != "GpuRowDataset":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = _row_dataset()
    return found


def _row_dataset() -> object:
    """Return the class that yields tensors or, if PyTorch is not installed, arrays."""
    if find_spec("torch") is None:
        from tokenmill._mill.device.rows import DeviceRowStream

        return DeviceRowStream
    from tokenmill._mill.device.torch_rows import TorchDeviceRowStream

    return TorchDeviceRowStream


def __dir__() -> list[str]:
    return sorted(__all__)
