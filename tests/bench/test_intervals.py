"""Intervals hold the true value as often as they say, whatever the distribution."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest

from tokenmill._bench.intervals import _ways, median_interval, ratio_interval

TRIES = 400


def test_an_interval_of_a_median_lies_between_order_statistics() -> None:
    found = median_interval([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    assert (found.value, found.low, found.high) == (3.5, 1.0, 6.0)
    assert found.confidence == pytest.approx(1 - 2 / 2**6)
    assert (median_interval(range(1, 10)).low, median_interval(range(1, 10)).high) == (2, 8)


def test_few_values_have_less_confidence_and_one_has_none() -> None:
    assert median_interval([1.0, 2.0, 3.0]).confidence == pytest.approx(0.75)
    found = median_interval([7.0])
    assert (found.value, found.low, found.high, found.confidence) == (7.0, 7.0, 7.0, 0.0)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (4, 4), (5, 3)])
def test_the_orders_of_two_samples_are_counted_right(n: int, m: int) -> None:
    counts = [0] * (n * m + 1)
    for places in combinations(range(n + m), n):
        counts[sum(places) - n * (n - 1) // 2] += 1
    assert list(_ways(n, m)) == counts


def test_a_ratio_needs_no_pairs_and_survives_an_outlier() -> None:
    found = ratio_interval([2.0] * 6 + [90.0], [1.0] * 7)
    assert (found.value, found.low, found.high) == (2.0, 2.0, 2.0)
    assert 0.95 <= found.confidence < 1


@pytest.mark.parametrize("spread", ["normal", "skewed"])
@pytest.mark.parametrize("n", [6, 7, 12])
def test_intervals_hold_the_true_value_in_19_of_20_cases(spread: str, n: int) -> None:
    chance = random.Random(n)  # noqa: S311 -- noise

    def draw(scale: float) -> list[float]:
        noise = [chance.gauss(0, 0.01) if spread == "normal" else chance.expovariate(50)
                 for _ in range(n)]  # fmt: skip
        return [scale * math.exp(value) for value in noise]

    true_median = 1.0 if spread == "normal" else math.exp(math.log(2) / 50)
    held = ratio_held = 0
    for _ in range(TRIES):
        found = median_interval(draw(1.0))
        held += found.low <= true_median <= found.high
        ratio = ratio_interval(draw(1.3), draw(1.0))
        ratio_held += ratio.low <= 1.3 <= ratio.high
    assert min(held, ratio_held) >= 0.93 * TRIES


def test_a_scaled_interval_keeps_its_order() -> None:
    found = median_interval([1.0, 2.0, 3.0]).scaled(-2)
    assert (found.low, found.value, found.high) == (-6.0, -4.0, -2.0)
