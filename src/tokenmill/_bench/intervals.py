"""How far a median, or the ratio of two sets of times, can be trusted.

Every value comes from a fresh process, so the spread between processes is in all intervals. None
assumes a distribution: an interval of a median lies between two order statistics (the sign test),
one of a ratio between two quotients of a new and an old value (Hodges and Lehmann's estimate with
the distribution of Mann and Whitney's U).
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A value, and where the true one is with a probability of `confidence`.

    With few values, `confidence` may be lower than what was asked for: then the interval is as wide
    as the values allow.
    """

    value: float
    low: float
    high: float
    confidence: float

    def scaled(self, factor: float) -> Interval:
        """Return the interval in another unit."""
        low, high = sorted((self.low * factor, self.high * factor))
        return Interval(self.value * factor, low, high, self.confidence)


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the median with an interval; [3, 1, 2, 5, 4, 6] -> 3.5, from 1 to 6, 0.97."""
    ordered = sorted(values)
    n = len(ordered)
    tails = [math.comb(n, k) / 2**n for k in range(n)]
    cut, sure = _deepest(tails, n // 2, confidence)
    return Interval(statistics.median(ordered), ordered[cut], ordered[n - 1 - cut], sure)


def ratio_interval(
    new: Sequence[float], old: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """Return how many times as large new values are; [2.0, 2.0], [1.0, 1.0] -> 2.0.

    The value is the median of all quotients of a new and an old value.
    """
    ratios = sorted(a / b for a in new for b in old)
    ways = _ways(len(new), len(old))
    total = math.comb(len(new) + len(old), len(new))
    cut, sure = _deepest([count / total for count in ways], len(ratios) // 2, confidence)
    return Interval(statistics.median(ratios), ratios[cut], ratios[-1 - cut], sure)


def _deepest(chances: Sequence[float], most: int, confidence: float) -> tuple[int, float]:
    """Return how many values can be cut off at either end, and the confidence that is left.

    `chances[k]`: how likely it is that exactly `k` values lie beyond the true one.
    """
    outside = chances[0]
    cut = 0
    while cut + 1 <= most - 1 and 2 * (outside + chances[cut + 1]) <= 1 - confidence:
        cut += 1
        outside += chances[cut]
    return cut, 1 - 2 * outside


@cache
def _ways(n: int, m: int) -> tuple[int, ...]:
    """Return in how many orders of n + m values U is 0, 1, 2, ...: a Gaussian binomial.

    The product of (1 - x^(m+i)) / (1 - x^i) for i in 1..n.
    """
    size = n * m + 1
    counts = [1] + [0] * (size - 1)
    for i in range(1, n + 1):
        for u in range(size - 1, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, size):
            counts[u] += counts[u - i]
    return tuple(counts)
