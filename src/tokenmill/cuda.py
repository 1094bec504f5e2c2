"""Tokenizing and packing on CUDA devices: text in, ids and rows that stay there out.

`GpuTokenizer` is a tokenizer on one device, with the ids of the CPU engine, `GpuTokenizers` on
several. `GpuRowDataset` gives a training loop batches of packed rows from text files, and
`DeviceRowPacker` packs ids that are on a device already. `REASONS` says in words why a device does
not do the work, for a whole call or for one document. CuPy is imported when a tokenizer is put on a
device, PyTorch with GpuRowDataset, not before.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from tokenmill._cuda.gpu_tokenizer import GpuTokenBatch, GpuTokenizer
from tokenmill._cuda.reasons import DOCUMENT, WHOLE
from tokenmill._cuda.row_packer import DeviceRowPacker
from tokenmill._cuda.rows import DeviceRows
from tokenmill._cuda.several import GpuTokenBatches, GpuTokenizers
from tokenmill._cuda.texts import FlatTexts

if TYPE_CHECKING:
    from tokenmill._mill.device.rows import DeviceRowStream as GpuRowDataset

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

REASONS = {name: words.what for name, words in {**WHOLE, **DOCUMENT}.items()}


def __getattr__(name: str) -> object:
    if name != "GpuRowDataset":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = _row_dataset()
    return found


def _row_dataset() -> object:
    """Return the class that gives tensors; where PyTorch is not installed, that of plain arrays."""
    if find_spec("torch") is None:
        from tokenmill._mill.device.rows import DeviceRowStream

        return DeviceRowStream
    from tokenmill._mill.device.torch_rows import TorchDeviceRowStream

    return TorchDeviceRowStream


def __dir__() -> list[str]:
    return sorted(__all__)
