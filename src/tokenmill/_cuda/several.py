"""Several devices: a tokenizer on each, documents dealt by size, in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.batch import TokenBatch
from tokenmill._cuda.options import CallOptions
from tokenmill._cuda.texts import slice_of
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from tokenmill._cuda.device_tokenizer import DeviceTokenizer
    from tokenmill._cuda.gpu_batch import GpuTokenBatch
    from tokenmill._cuda.texts import TextPart


class GpuTokenBatches:
    """The results of several devices: the rows of `shards`, in order."""

    __slots__ = ("shards",)

    def __init__(self, shards: Sequence[GpuTokenBatch]) -> None:
        self.shards = tuple(shards)

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    @property
    def fallbacks(self) -> Counter[str]:
        """Documents that the CPU engine encoded, by reason."""
        total = self.shards[0].fallbacks.copy()
        for shard in self.shards[1:]:
            total.update(shard.fallbacks)
        return total

    def to_host(self) -> TokenBatch:
        """Copy all rows to the host."""
        parts = [shard.to_host() for shard in self.shards]
        bases = np.cumsum([0, *(len(part.ids) for part in parts)])
        offsets = [part.offsets[:-1] + base for part, base in zip(parts, bases, strict=False)]
        return TokenBatch(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([*offsets, bases[-1:]]),
            device=",".join(part.device for part in parts),
        )

    def __repr__(self) -> str:
        return f"GpuTokenBatches({', '.join(map(repr, self.shards))})"


class DeviceTokenizers:
    """One tokenizer on several devices."""

    def __init__(self, encoders: Sequence[DeviceTokenizer]) -> None:
        if not encoders:
            raise OptionError("devices: expected at least one, got none")
        self.encoders = tuple(encoders)

    def encode_batch(self, texts: Any, **options: Any) -> GpuTokenBatches:
        """Return the ids of many texts; the options are those of `GpuTokenizer.encode_batch`.

        Texts are on the host. Each device gets about the same number of bytes of neighbouring
        documents, so the shards, in order, hold the documents in order.
        """
        call = CallOptions(**options)
        if call.stream is not None:
            raise OptionError("stream: expected None for several devices: each has its own")
        shares = deal(self.encoders[0].parts(texts), len(self.encoders))
        with ThreadPoolExecutor(len(self.encoders)) as pool:
            jobs = [
                pool.submit(encoder.encode_parts, share, call)
                for encoder, share in zip(self.encoders, shares, strict=True)
            ]
        # In order, so that the error of the first bad document is raised.
        return GpuTokenBatches([job.result() for job in jobs])


def deal(parts: Sequence[TextPart], count: int) -> list[list[TextPart]]:
    """Cut documents into `count` shares of about equal bytes, in order."""
    if any(part.on_device for part in parts):
        raise OptionError(
            "texts: expected text on the host for several devices, got some on a device"
        )
    total = sum(part.size for part in parts)
    shares: list[list[TextPart]] = []
    for share in range(count):
        low, high = total * share // count, total * (share + 1) // count
        shares.append(_between(parts, low, high, is_last=share == count - 1))
    return shares


def _between(parts: Sequence[TextPart], low: int, high: int, *, is_last: bool) -> list[TextPart]:
    """Return the documents that start in bytes `low` to `high`, counted over all parts."""
    found: list[TextPart] = []
    base = documents = 0
    for part in parts:
        begins = part.offsets[:-1] - part.offsets[0] + base
        first = int(np.searchsorted(begins, low))
        last = len(part) if is_last else int(np.searchsorted(begins, high))
        if first < last:
            found.append(slice_of(part, first, last, documents))
            documents += last - first
        base += part.size
    return found
