"""The encoder that the mill and the row dataset use on a device, and how to open one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

from tokenmill._cuda.jsonl import JsonlReader
from tokenmill._cuda.reasons import reason_of
from tokenmill._cuda.texts import FlatTexts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._core import Model
    from tokenmill._cuda.device_tokenizer import DeviceTokenizer
    from tokenmill._cuda.jsonl import JsonlRules
    from tokenmill._cuda.line_device import NativeLines
    from tokenmill._cuda.options import CallOptions
    from tokenmill._cuda.protocols import DeviceBackend, RowBackend
    from tokenmill._cuda.texts import TextPart
    from tokenmill._model.ready import Ready


class DeviceEncoder(Protocol):
    """A tokenizer on a device. Text is flat: document `i` is `text[offsets[i]:offsets[i + 1]]`."""

    @property
    def backend(self) -> RowBackend:
        """What runs kernels on the device."""

    @property
    def name(self) -> str:
        """The name of the device."""

    @property
    def fallbacks(self) -> Counter[str]:
        """Documents that the CPU engine encoded so far, by reason."""

    def encode(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], options: CallOptions
    ) -> tuple[Any, Any]:
        """Return ids and offsets, on the device or on the host as `options.output` asks."""

    def encode_parts(self, parts: Sequence[TextPart], options: CallOptions) -> tuple[Any, Any]:
        """Do the same with texts that may be on the device already."""

    def jsonl_reader(self, rules: JsonlRules) -> JsonlReader:
        """Return what reads lines of JSON on the device."""

    @property
    def model(self) -> Model:
        """The tokenizer on the CPU, for native calls."""

    def new_lines(self, options: CallOptions) -> NativeLines:
        """Return what reads and encodes lines by native calls, still without memory."""

    @property
    def kept_lines(self) -> dict[Any, Any]:
        """What callers made of `new_lines` and will use again, by their own keys."""

    def add_to_turn(self) -> None:
        """Let later calls wait for the current stream, which reads results of a native call."""

    def count_flags(self, flags: NDArray[np.int64]) -> None:
        """Count documents that the CPU encoded within native calls, by their flags."""

    @property
    def reads_jsonl(self) -> DeviceBackend | None:
        """The device, if it reads JSONL; None: it takes only texts."""


class GpuEncoder:
    """A DeviceTokenizer as a DeviceEncoder, which counts its own fallbacks."""

    def __init__(self, tokenizer: DeviceTokenizer) -> None:
        self._tokenizer = tokenizer
        self.fallbacks: Counter[str] = Counter()

    @property
    def backend(self) -> RowBackend:
        """What runs kernels on the device."""
        return self._tokenizer.backend

    @property
    def name(self) -> str:
        """The name of the device."""
        return self._tokenizer.device

    def encode(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], options: CallOptions
    ) -> tuple[Any, Any]:
        """Return ids and offsets."""
        return self.encode_parts(self._tokenizer.parts(FlatTexts(text, offsets)), options)

    def encode_parts(self, parts: Sequence[TextPart], options: CallOptions) -> tuple[Any, Any]:
        """Return ids and offsets of texts that may be on the device already."""
        batch = self._tokenizer.encode_parts(parts, options)
        self.fallbacks.update(batch.fallbacks)
        return batch.ids, batch.offsets

    def jsonl_reader(self, rules: JsonlRules) -> JsonlReader:
        """Return what reads lines of JSON on the device."""
        return JsonlReader(self._tokenizer.backend, rules)

    @property
    def model(self) -> Model:
        """The tokenizer on the CPU, for native calls."""
        return self._tokenizer.model

    def new_lines(self, options: CallOptions) -> NativeLines:
        """Return what reads and encodes lines by native calls, still without memory."""
        return self._tokenizer.new_lines(options)

    @property
    def kept_lines(self) -> dict[Any, Any]:
        """What callers made of `new_lines` and will use again, by their own keys."""
        return self._tokenizer.kept_lines

    def add_to_turn(self) -> None:
        """Let later calls wait for the current stream, which reads results of a native call."""
        self._tokenizer.add_to_turn()

    def count_flags(self, flags: NDArray[np.int64]) -> None:
        """Count documents that the CPU encoded within native calls, by their flags."""
        if flags.size:
            self.fallbacks.update(reason_of(bits) for bits in flags.tolist())

    @property
    def reads_jsonl(self) -> DeviceBackend | None:
        """The device: it reads JSONL."""
        return self._tokenizer.backend


def open_encoder(ready: Ready, device: int = 0) -> DeviceEncoder:
    """Open a device for a tokenizer; DeviceError if that cannot be done."""
    from tokenmill._cuda.choose import opened  # takes a moment

    return GpuEncoder(opened(ready, device))
