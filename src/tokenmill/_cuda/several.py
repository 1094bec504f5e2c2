"""Several devices: an encoder of its own on each, documents dealt by their size, in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.batch import TokenBatch
from tokenmill._cuda.gpu_tokenizer import GpuTokenizer
from tokenmill._cuda.texts import slice_of
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from tokenmill._cuda.gpu_tokenizer import GpuTokenBatch
    from tokenmill._cuda.texts import Part


class GpuTokenBatches:
    """The results of several devices: the rows of `shards` one after the other."""

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


class GpuTokenizers:
    """A tokenizer on several devices. The options are those of GpuTokenizer, and go to each."""

    def __init__(
        self,
        tokenizer: Any,
        devices: Sequence[int] = (0,),
        **options: Any,
    ) -> None:
        if not devices:
            raise OptionError("devices: expected at least one, got none")
        self.encoders = tuple(GpuTokenizer(tokenizer, device, **options) for device in devices)

    def encode_batch(self, texts: Any, **options: Any) -> GpuTokenBatches:
        """Return the ids of many texts; the options are those of `GpuTokenizer.encode_batch`.

        Texts lie on the host. Each device gets as many bytes of neighbouring documents as any
        other, so the shards in their order have the documents in theirs.
        """
        if options.get("stream") is not None:
            raise OptionError("stream: several devices have one each")
        shares = deal(self.encoders[0].parts(texts), len(self.encoders))
        with ThreadPoolExecutor(len(self.encoders)) as pool:
            jobs = [
                pool.submit(encoder.encode_parts, share, **options)
                for encoder, share in zip(self.encoders, shares, strict=True)
            ]
        # In order: the error of the first document that has one is the one that counts.
        return GpuTokenBatches([job.result() for job in jobs])


def deal(parts: Sequence[Part], count: int) -> list[list[Part]]:
    """Cut documents into so many shares of about equal bytes, in order."""
    if any(part.on_device for part in parts):
        raise OptionError("texts: several devices take text of the host, got some on a device")
    total = sum(part.size for part in parts)
    shares: list[list[Part]] = []
    for share in range(count):
        low, high = total * share // count, total * (share + 1) // count
        shares.append(_between(parts, low, high, is_last=share == count - 1))
    return shares


def _between(parts: Sequence[Part], low: int, high: int, *, is_last: bool) -> list[Part]:
    """Return the documents that begin at bytes from `low` to before `high`, of all parts."""
    found: list[Part] = []
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
