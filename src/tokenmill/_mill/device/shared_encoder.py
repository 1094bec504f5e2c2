"""One device for many workers: blocks that wait for it are encoded together.

A device works best with large batches, one at a time. A caller that finds it free takes all waiting
blocks, those of other workers too. A caller that finds it busy waits; its block may be done by
then, else it takes the next batch. So no thread of its own is needed that could be left running.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.batch import TokenBatch
from tokenmill._core import TextBuffer
from tokenmill._cuda.options import CallOptions
from tokenmill._errors import DeviceError
from tokenmill._mill.device.line_lanes import RawJob
from tokenmill._mill.device.raw_encoder import RawEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from tokenmill._cuda.encoder import DeviceEncoder
    from tokenmill._mill.device.raw_encoder import EncodedRaw
    from tokenmill._read import RawBlock, ReadRules
    from tokenmill._tokenizer import Tokenizer

BATCH_BYTES = 512 << 20  # of text at once: half of what 32-bit positions on a device can reach


@dataclass(eq=False)  # compared by identity
class _Request:
    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    how: tuple[Any, Any]  # dtype, special_in_text: the same for a whole batch
    result: TokenBatch | None = None
    error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self.result is not None or self.error is not None


class SharedEncoder:
    """A device encoder that many threads may call; `batches` counts the batches it was given.

    A batch that fails is tried again block by block. If a block fails even then (DeviceError), the
    `stand_in`, a tokenizer on the CPU, encodes it; its documents count as fallbacks.
    """

    blocks_before, is_open = 0, True

    def __init__(
        self,
        encoder: DeviceEncoder,
        batch_bytes: int = BATCH_BYTES,
        stand_in: Tokenizer | None = None,
    ) -> None:
        self._encoder = encoder
        self._batch_bytes = batch_bytes
        self._stand_in = stand_in
        self._stood_in: Counter[str] = Counter()
        self._waiting: list[_Request] = []
        self._list = threading.Lock()
        self._device = threading.Lock()
        device = encoder.reads_jsonl
        self._raw = None if device is None else RawEncoder(encoder, device)
        self.batches = 0

    @property
    def fallbacks(self) -> Counter[str]:
        """Documents that the CPU engine encoded instead of the device, by reason."""
        return self._encoder.fallbacks + self._stood_in

    @property
    def left_to_reader(self) -> int:
        """Blocks of JSONL that the CPU read, because the device was not sure about a line."""
        return 0 if self._raw is None else self._raw.left_to_reader

    @property
    def spent(self) -> Counter[str]:
        """Seconds of workers by step of native calls; and `blocks`, and those read `in_place`."""
        return Counter() if self._raw is None else self._raw.spent

    def takes_block(self) -> bool:
        """Return whether the next block is for the device: always."""
        return True

    @property
    def has_free_lane(self) -> bool:
        """Whether a raw block would be encoded at once, while memory for others is being made."""
        return self._raw is not None and self._raw.has_free_lane

    def prepare_raw(self, job: RawJob) -> None:
        """Make what raw blocks need on the device, so that the first of them need not wait."""
        if self._raw is not None:
            self._raw.prepare(job)

    def lent_memory(self) -> AbstractContextManager[NDArray[np.uint8] | None]:
        """Lend memory for the next block of this thread, if there is any."""
        return nullcontext() if self._raw is None else self._raw.lent_memory()

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
        """Return the ids of a raw block that the device reads; None if the host must parse it.

        The ids of `around` go before and after each document.
        """
        if self._raw is None:
            return None
        return self._raw.encode(raw, RawJob(rules, fields, dtype, special_in_text, *around))

    def encode(
        self,
        text: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        dtype: str,
        special_in_text: str,
    ) -> TokenBatch:
        """Return the ids of flat texts, on the host."""
        request = _Request(text, offsets, (dtype, special_in_text))
        with self._list:
            self._waiting.append(request)
        with self._device:
            if not request.is_done:
                self._encode_together(self._take(request))
        if request.error is not None:
            raise request.error
        assert request.result is not None  # noqa: S101
        return request.result

    def _take(self, own: _Request) -> list[_Request]:
        """Take the caller's block and others with the same options from the list, up to a batch."""
        with self._list:
            self._waiting.remove(own)
            taken, size = [own], len(own.text)
            left: list[_Request] = []
            for request in self._waiting:
                fits = request.how == own.how and size + len(request.text) <= self._batch_bytes
                (taken if fits else left).append(request)
                size += len(request.text) if fits else 0
            self._waiting = left
        return taken

    def _encode_together(self, requests: list[_Request]) -> None:
        try:
            batch = self._run(*_flat_texts(requests), requests[0].how)
        except BaseException as error:
            if isinstance(error, DeviceError) and len(requests) == 1 and self._stand_in is not None:
                self._encode_here(requests[0], error.reason)
            elif len(requests) == 1 or not isinstance(error, Exception):
                for request in requests:
                    request.error = error
            else:  # one of them is at fault, and only its caller gets the error
                for request in requests:
                    self._encode_together([request])
            return
        first = 0
        for request in requests:
            last = first + len(request.offsets) - 1
            request.result = batch[first:last]
            first = last

    def _run(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], how: tuple[Any, Any]
    ) -> TokenBatch:
        self.batches += 1
        dtype, special = how
        options = CallOptions(dtype, special_in_text=special, output="host")
        ids, bounds = self._encoder.encode(text, offsets, options)
        return TokenBatch(ids, bounds)

    def _encode_here(self, request: _Request, reason: str) -> None:
        """Encode a block on the CPU that the device cannot encode."""
        assert self._stand_in is not None  # noqa: S101 -- the caller checked
        dtype, special = request.how
        try:
            request.result = self._stand_in.encode_batch(
                TextBuffer(request.text, request.offsets), dtype=dtype, special_in_text=special
            )
        except Exception as error:
            request.error = error
        self._stood_in[reason] += len(request.offsets) - 1


def _flat_texts(requests: list[_Request]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if len(requests) == 1:
        return requests[0].text, requests[0].offsets
    parts, total = [np.zeros(1, np.int64)], 0
    for request in requests:
        parts.append(request.offsets[1:] - request.offsets[0] + total)
        total += len(request.text)
    return np.concatenate([request.text for request in requests]), np.concatenate(parts)
