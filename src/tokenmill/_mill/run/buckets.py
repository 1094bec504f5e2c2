"""Buckets: files of documents, each for a range of keys; a buffer bounds the memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

KEY_BITS = 62
_BUCKET_TOKENS = 1 << 25
_BUCKET_DOCUMENTS = 1 << 20
_BUFFER_BYTES = 32 << 20


def bucket_count(tokens: int, documents: int) -> int:
    """Return how many buckets keep each one small enough to be sorted in memory."""
    return max(1, -(-tokens // _BUCKET_TOKENS), -(-documents // _BUCKET_DOCUMENTS))


class BucketFiles:
    """The bucket files of each split: `counts[i]` of them for split `splits[i]`."""

    def __init__(self, folder: Path, splits: Sequence[str], counts: Sequence[int]) -> None:
        self._folder = folder
        self._splits = splits
        self._counts = counts
        self._waiting: dict[tuple[int, int], list[NDArray[Any]]] = {}
        self._waiting_bytes = 0
        self._sizes = [np.zeros((count, 2), np.int64) for count in counts]

    def put(self, split: int, entries: NDArray[Any]) -> None:
        """Add documents, as entries of `order.ENTRY`, to the buckets of their keys."""
        count = self._counts[split]
        bucket = np.minimum((entries["key"].astype(np.float64) / 2**KEY_BITS * count), count - 1)
        bucket = bucket.astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        entries, bucket = entries[order], bucket[order]
        for b in np.unique(bucket):
            some = entries[np.searchsorted(bucket, b) : np.searchsorted(bucket, b, side="right")]
            self._sizes[split][b] += (int(some["length"].sum()), len(some))
            self._waiting.setdefault((split, int(b)), []).append(some)
            self._waiting_bytes += some.nbytes
        if self._waiting_bytes > _BUFFER_BYTES:
            self._flush()

    def finish(self) -> dict[str, list[list[str | int]]]:
        """Write the rest and sync all files; return name, tokens and documents of each."""
        self._flush()
        self._sync()
        return {
            name: [
                [self._name(split, bucket), *map(int, size)]
                for bucket, size in enumerate(self._sizes[split])
            ]
            for split, name in enumerate(self._splits)
        }

    def _flush(self) -> None:
        for (split, bucket), arrays in self._waiting.items():
            with (self._folder / self._name(split, bucket)).open("ab") as file:
                for array in arrays:
                    file.write(array.tobytes())
        self._waiting, self._waiting_bytes = {}, 0

    def _sync(self) -> None:
        """Give every bucket a file, and put it on the disk before a record names it."""
        for split, count in enumerate(self._counts):
            for bucket in range(count):
                with (self._folder / self._name(split, bucket)).open("ab") as file:
                    os.fsync(file.fileno())

    def _name(self, split: int, bucket: int) -> str:
        return f"{self._splits[split]}-{bucket:06d}.run"
