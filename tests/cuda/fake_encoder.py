"""A device encoder whose ids come from the CPU engine: to test what uses an encoder."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.cuda.shim import ShimBackend, build

from tokenmill._core import TextBuffer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill import Tokenizer
    from tokenmill._cuda.options import CallOptions


class RowShim(ShimBackend):
    """A device for rows; new memory is full of numbers that must not appear in results."""

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
    """A `tokenmill._cuda.encoder.DeviceEncoder` on a shim of a device."""

    name = "a CPU in the place of a GPU"
    reads_jsonl = None

    def __init__(self, tokenizer: Tokenizer, backend: RowShim) -> None:
        self.tokenizer = tokenizer
        self.backend = backend
        self.batches: list[int] = []  # documents of each
        self.fallbacks: Counter[str] = Counter()

    def encode(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], options: CallOptions
    ) -> tuple[Any, Any]:
        self.batches.append(len(offsets) - 1)
        batch = self.tokenizer.encode_batch(
            TextBuffer(text, offsets),
            threads=1,
            dtype="uint16" if options.dtype == "uint16" else "uint32",
            special_in_text=options.special_in_text,  # type: ignore[call-overload]
        )
        if options.output == "host":
            return batch.ids, batch.offsets
        return self.backend.asarray(batch.ids.view(np.int32)), batch.offsets

    def encode_parts(self, parts: Any, options: CallOptions) -> tuple[Any, Any]:
        raise NotImplementedError

    def jsonl_reader(self, rules: Any) -> Any:
        raise NotImplementedError

    model: Any = None
    kept_lines: dict[Any, Any] = {}  # noqa: RUF012 -- it makes none
    new_lines = count_flags = jsonl_reader  # it takes only texts

    def add_to_turn(self) -> None:
        raise NotImplementedError
