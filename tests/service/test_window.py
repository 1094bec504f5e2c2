"""Counts of the last seconds: rates and percentiles of what changed."""

from __future__ import annotations

import numpy as np
import pytest

from tokenmill._service.counters import BUCKETS, Counters
from tokenmill._service.window import Window, quantile


def counted(counters: Counters, seconds: list[float]) -> None:
    place = counters.place(0, "encode")
    for value in seconds:
        counters.ended(place, "ok", 10, (value, 0.0, value))


def test_a_percentile_lies_in_the_bucket_of_the_true_one() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        values = 10 ** rng.uniform(-5.5, 0.5, size=int(rng.integers(1, 400)))
        buckets = [0] * (len(BUCKETS) + 1)
        for value in values:
            buckets[int(np.searchsorted(BUCKETS, value, side="left"))] += 1
        for share in (0.5, 0.95, 0.99):
            found = quantile(buckets, share)
            true = float(np.quantile(values, share, method="inverted_cdf"))
            assert found is not None
            place = int(np.searchsorted(BUCKETS, true, side="left"))
            low = BUCKETS[place - 1] if place else 0.0
            high = BUCKETS[min(place, len(BUCKETS) - 1)]
            assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9)


def test_no_requests_have_no_percentile() -> None:
    assert quantile([0] * (len(BUCKETS) + 1), 0.5) is None


def test_what_is_slower_than_all_buckets_counts_as_the_last_bound() -> None:
    assert quantile([0] * len(BUCKETS) + [3], 0.5) == BUCKETS[-1]


def test_a_window_forgets_what_is_older() -> None:
    counters, window = Counters(1), Window(10.0)
    window.add(0.0, counters.as_dict(["a"]))
    counted(counters, [1.0] * 5)
    change = window.add(5.0, counters.as_dict(["a"]))
    assert (change.requests, change.rate(change.requests)) == (5, 1.0)
    counted(counters, [1e-4] * 20)
    assert window.add(15.0, counters.as_dict(["a"])).requests == 20
    assert window.add(25.0, counters.as_dict(["a"])).requests == 0


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_percentiles_are_of_the_window_and_of_all_models(share: float) -> None:
    counters, window = Counters(2), Window(10.0)
    counted(counters, [5.0] * 100)  # before
    window.add(0.0, counters.as_dict(["a", "b"]))
    counters.ended(counters.place(1, "count"), "error", 1, (2e-3, 0.0, 2e-3))
    found = window.add(1.0, counters.as_dict(["a", "b"])).quantile("request", share)
    assert found is not None
    assert 1e-3 < found <= 2e-3
