"""How long documents are, in bounded memory: counts by length, in bins that grow with it.

Up to 256 tokens every length has a bin of its own, so figures are exact; above, there are 32 bins
for each doubling, so that a percentile is right to within 3 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EXACT = 256
_EXACT_BITS = 8
_PER_DOUBLING = 32
BINS = _EXACT + _PER_DOUBLING * (63 - _EXACT_BITS)
_SHARES = (0.5, 0.9, 0.99)


def bin_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bin of each length."""
    large = np.maximum(lengths, _EXACT).astype(np.float64)
    steps = np.floor((np.log2(large) - _EXACT_BITS) * _PER_DOUBLING).astype(np.int64)
    return np.where(lengths < _EXACT, lengths, np.minimum(_EXACT + steps, BINS - 1))


def _least_of_bins() -> NDArray[np.float64]:
    above = np.arange(BINS - _EXACT)
    return np.concatenate((np.arange(_EXACT), 2.0 ** (_EXACT_BITS + above / _PER_DOUBLING)))


_LEAST = _least_of_bins()


class LengthCounts:
    """Lengths of documents by group: how many there are in each bin, their sum and extremes."""

    def __init__(self, groups: int) -> None:
        self.documents = np.zeros(groups, np.int64)
        self.tokens = np.zeros(groups, np.int64)
        self.least = np.full(groups, np.iinfo(np.int64).max)
        self.most = np.zeros(groups, np.int64)
        self.bins = np.zeros((groups, BINS), np.int64)

    def add(self, group: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Count documents."""
        if not len(lengths):
            return
        np.add.at(self.documents, group, 1)
        np.add.at(self.tokens, group, lengths)
        np.minimum.at(self.least, group, lengths)
        np.maximum.at(self.most, group, lengths)
        np.add.at(self.bins.reshape(-1), group * BINS + bin_of(lengths), 1)

    def facts(self, groups: list[int]) -> dict[str, Any]:
        """Return the lengths of some groups together."""
        documents = int(self.documents[groups].sum())
        if documents == 0:
            return {"documents": 0, "tokens": 0}
        tokens, most = int(self.tokens[groups].sum()), int(self.most[groups].max())
        reached = np.cumsum(self.bins[groups].sum(axis=0))
        found = {
            f"p{round(share * 100)}": min(most, self._at(reached, share * documents))
            for share in _SHARES
        }
        return {
            "documents": documents,
            "tokens": tokens,
            "mean": round(tokens / documents, 1),
            "least": int(self.least[groups].min()),
            **found,
            "most": most,
        }

    @staticmethod
    def _at(reached: NDArray[np.int64], rank: float) -> int:
        place = int(np.searchsorted(reached, max(rank, 1)))
        return int(np.ceil(_LEAST[place]))

    def histogram(self) -> list[dict[str, int]]:
        """Return how many documents have a length from a power of two to the next."""
        counts = self.bins.sum(axis=0)
        doubling = np.floor(np.log2(np.maximum(_LEAST, 1)) + 1e-9).astype(np.int64)
        totals = np.bincount(doubling, counts).astype(np.int64)
        used = np.flatnonzero(totals)
        if not len(used):
            return []
        return [
            {"from": 2**step, "below": 2 ** (step + 1), "documents": int(totals[step])}
            for step in range(int(used[0]), int(used[-1]) + 1)
        ]
