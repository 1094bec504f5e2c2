"""The order of documents: by the plan, or dealt into buckets by a key and sorted in each.

A *run* is a list of documents of bounded size; the runs of a split, one after another, are all its
documents in their final order. Without a shuffle, weights or limits, a run is a part, and nothing
is written. Otherwise a pass over the lengths of all parts writes the key, place and number of each
document into the bucket of its key.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._mill.output.parts import Part

# One document of a bucket.
ENTRY = np.dtype(
    [("key", "<u8"), ("number", "<i8"), ("begin", "<i8"), ("length", "<i8"), ("part", "<i8")]
)


@dataclass(frozen=True)
class Documents:
    """Documents in order: document `i` is `length[i]` ids of part `part[i]`, from `begin[i]`.

    `number[i]` is its number in the order of the plan.
    """

    part: NDArray[np.int64]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    number: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.length)

    def __getitem__(self, which: Any) -> Documents:  # a slice or a mask
        return Documents(
            self.part[which], self.begin[which], self.length[which], self.number[which]
        )


@dataclass(frozen=True)
class PartRun:
    """All documents of a part, in its order."""

    part: Part
    index: int
    first_number: int

    @property
    def tokens(self) -> int:
        """The tokens of all its documents."""
        return self.part.record.tokens

    @property
    def documents(self) -> int:
        """How many documents it has."""
        return self.part.record.documents

    def load(self) -> Documents:
        """Return its documents."""
        lengths = self.part.column("lengths")
        count = len(lengths)
        return Documents(
            np.full(count, self.index, np.int64),
            np.cumsum(lengths) - lengths,
            lengths,
            self.first_number + np.arange(count, dtype=np.int64),
        )


@dataclass(frozen=True)
class BucketRun:
    """The documents of one bucket, sorted by key; equal keys by number."""

    path: Path
    tokens: int
    documents: int

    @property
    def is_whole(self) -> bool:
        """Whether its file is there and has its size."""
        try:
            return self.path.stat().st_size == self.documents * ENTRY.itemsize
        except OSError:
            return False

    def load(self) -> Documents:
        """Return its documents."""
        entries = np.fromfile(self.path, ENTRY)
        entries = entries[np.argsort(entries["key"], kind="stable")]
        return Documents(
            *(np.ascontiguousarray(entries[name]) for name in ("part", "begin", "length", "number"))
        )


Run = PartRun | BucketRun


def plan_order(parts: Sequence[Part]) -> list[PartRun]:
    """Return the runs of all documents in the order of the plan."""
    runs, number = [], 0
    for index, part in enumerate(parts):
        runs.append(PartRun(part, index, number))
        number += part.record.documents
    return runs


class Ordered:
    """The documents of a split in their final order, found by the position of their tokens."""

    def __init__(self, runs: Sequence[Run], max_tokens: int | None = None) -> None:
        self._runs: list[Run] = []
        self._token_ends: list[int] = []
        self.documents = self.tokens = 0
        for run in runs:
            self.append(run)
        if max_tokens is not None and self.tokens > max_tokens:
            self._limit(max_tokens)

    def append(self, run: Run) -> None:
        """Add the documents that come next."""
        self._runs.append(run)
        self.documents += run.documents
        self.tokens += run.tokens
        self._token_ends.append(self.tokens)

    def _limit(self, max_tokens: int) -> None:
        """End before the first document that would exceed a number of tokens."""
        index = bisect_right(self._token_ends, max_tokens)
        before = self._token_ends[index - 1] if index else 0
        ends = before + np.cumsum(self._runs[index].load().length)
        kept = int(np.searchsorted(ends, max_tokens, side="right"))
        self.documents = sum(run.documents for run in self._runs[:index]) + kept
        self.tokens = int(ends[kept - 1]) if kept else before

    def between(self, begin: int, end: int) -> tuple[Documents, int]:
        """Return the documents with tokens in [begin, end), and where the first one starts.

        A document without tokens belongs to its position.
        """
        end = min(end, self.tokens)
        first = bisect_right(self._token_ends, begin)
        last = bisect_left(self._token_ends, end)
        runs = self._runs[first : last + 1]
        if not runs:
            return _NOTHING, begin
        documents = _load(runs)
        base = self._token_ends[first - 1] if first else 0
        ends = base + np.cumsum(documents.length)
        low = int(np.searchsorted(ends, begin, side="right"))
        high = int(np.searchsorted(ends - documents.length, end, side="left"))
        start = int(ends[low] - documents.length[low]) if low < len(documents) else begin
        return documents[low:high], start

    def starting_between(self, begin: int, end: int) -> Documents:
        """Return the documents whose first token lies in [begin, end)."""
        documents, start = self.between(begin, end)
        starts = start + np.cumsum(documents.length) - documents.length
        return documents[starts >= begin]


_EMPTY = np.empty(0, np.int64)
_NOTHING = Documents(_EMPTY, _EMPTY, _EMPTY, _EMPTY)


def _load(runs: Sequence[Run]) -> Documents:
    """Return the documents of runs, one after another."""
    parts = [run for run in runs if isinstance(run, PartRun)]
    return _join_parts(parts) if len(parts) == len(runs) else _join([run.load() for run in runs])


def _join_parts(runs: Sequence[PartRun]) -> Documents:
    """Do for all parts at once what `PartRun.load` does for one.

    Workers wait for each other at every call of numpy, so few calls are worth more than fast ones.
    """
    lengths = [run.part.column("lengths") for run in runs]
    counts = np.array([len(some) for some in lengths])
    length = np.concatenate(lengths)
    first = np.cumsum(counts) - counts
    ends = np.cumsum(length)
    before = np.concatenate((np.zeros(1, np.int64), ends))[first]
    firsts = np.array([run.first_number for run in runs])
    return Documents(
        np.repeat(np.array([run.index for run in runs]), counts),
        ends - length - np.repeat(before, counts),
        length,
        np.repeat(firsts - first, counts) + np.arange(len(length)),
    )


def _join(chosen: Sequence[Documents]) -> Documents:
    if len(chosen) == 1:
        return chosen[0]
    return Documents(
        np.concatenate([d.part for d in chosen]),
        np.concatenate([d.begin for d in chosen]),
        np.concatenate([d.length for d in chosen]),
        np.concatenate([d.number for d in chosen]),
    )
