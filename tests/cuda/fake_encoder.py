"""A device encoder whose ids come from the CPU engine: for what stands around an encoder."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.cuda.shim import ShimBackend, build

from tokenmill._core import FlatTexts

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill import Tokenizer


class RowShim(ShimBackend):
    """A device for rows; memory without a content is full of what must not be seen."""

    def empty(self, count: int, dtype: Any) -> Any:
        array = self.zeros(count, dtype)
        array[:] = 99
        return array

    def using(self, stream: Any) -> AbstractContextManager[Any]:
        del stream
        return nullcontext()


def build_rows(folder: Path, sanitize: str = "") -> Path:
    """Compile the kernel of rows alone, which is the same for every tokenizer."""
    return build(folder, {}, sanitize, "rows.h")


class CpuEncoder:
    """What `tokenmill._cuda.encoder.DeviceEncoder` asks for, on a shim of a device."""

    name = "a CPU in the place of a GPU"

    def __init__(self, tokenizer: Tokenizer, backend: RowShim) -> None:
        self.tokenizer = tokenizer
        self.backend = backend
        self.batches: list[int] = []  # documents of each
        self.fallbacks: Counter[str] = Counter()

    def encode_flat(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], *, special_in_text: str
    ) -> tuple[Any, Any]:
        ids, bounds = self.encode_host(
            text, offsets, dtype="uint32", special_in_text=special_in_text
        )
        return self.backend.asarray(ids.view(np.int32)), bounds

    def encode_host(
        self,
        text: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        dtype: str,
        special_in_text: str,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        self.batches.append(len(offsets) - 1)
        batch = self.tokenizer.encode_batch(
            FlatTexts(text, offsets),
            threads=1,
            dtype=dtype,  # type: ignore[call-overload]
            special_in_text=special_in_text,
        )
        return batch.ids, batch.offsets
