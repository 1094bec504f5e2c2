"""Tokenizing and packing on a CUDA device, with the ids of the CPU engine.

`GpuTokenizer` encodes texts, and the ids stay on the device; `GpuRowDataset` gives a training loop
batches of packed rows there, from text files; `DeviceRowPacker` packs ids that are there already.
Names are loaded when they are first used; CuPy when a device is opened.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._cuda.gpu_tokenizer import GpuTokenBatch, GpuTokenizer
    from tokenmill._cuda.reasons import REASONS
    from tokenmill._cuda.row_packer import DeviceRowPacker
    from tokenmill._cuda.rows import DeviceRows
    from tokenmill._cuda.texts import FlatTexts
    from tokenmill._pipeline.device_rows import DeviceRowStream as GpuRowDataset

__all__ = [
    "REASONS",
    "DeviceRowPacker",
    "DeviceRows",
    "FlatTexts",
    "GpuRowDataset",
    "GpuTokenBatch",
    "GpuTokenizer",
]

_HOMES = {
    "REASONS": "reasons",
    "DeviceRowPacker": "row_packer",
    "DeviceRows": "rows",
    "FlatTexts": "texts",
    "GpuTokenBatch": "gpu_tokenizer",
    "GpuTokenizer": "gpu_tokenizer",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "GpuRowDataset":
        value = _row_dataset()
    else:
        value = getattr(import_module(f"tokenmill._cuda.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def _row_dataset() -> object:
    """Return the class that gives tensors; where PyTorch is not installed, that of plain arrays."""
    if find_spec("torch") is None:
        from tokenmill._pipeline.device_rows import DeviceRowStream  # noqa: PLC0415

        return DeviceRowStream
    from tokenmill._pipeline.torch_rows import TorchDeviceRowStream  # noqa: PLC0415

    return TorchDeviceRowStream


def __dir__() -> list[str]:
    return sorted(__all__)
