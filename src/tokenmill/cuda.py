"""Tokenizing on CUDA devices: text in, ids that stay on the device out, equal to the CPU engine's.

`GpuTokenizer` is a tokenizer on one device, `GpuTokenizers` on several. `REASONS` says in words why
a device does not do the work, for a whole call or for one document. CuPy is imported when a
tokenizer is put on a device, not before.
"""

from __future__ import annotations

from tokenmill._cuda.gpu_tokenizer import GpuTokenBatch, GpuTokenizer
from tokenmill._cuda.reasons import DOCUMENT, WHOLE
from tokenmill._cuda.several import GpuTokenBatches, GpuTokenizers
from tokenmill._cuda.texts import FlatTexts

__all__ = [
    "REASONS",
    "FlatTexts",
    "GpuTokenBatch",
    "GpuTokenBatches",
    "GpuTokenizer",
    "GpuTokenizers",
]

REASONS = {name: words.what for name, words in {**WHOLE, **DOCUMENT}.items()}
