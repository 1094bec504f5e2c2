"""Runs that are short are repeated more often, so that the same setting wins each time."""

from __future__ import annotations

import random

import pytest

from tokenmill._tune.confirm import confirm, play_off, times_more
from tokenmill._tune.search import TuneTrial
from tokenmill._tune.space import TuneSetting


def setting(threads: int) -> TuneSetting:
    return TuneSetting(threads, 8 << 20, "normal", "cpu")


class Machine:
    """Runs that take `seconds[threads]`, with noise that does not shrink with them."""

    def __init__(self, seconds: dict[int, float], seed: int) -> None:
        self._seconds, self._noise, self.runs = seconds, random.Random(seed), 0  # noqa: S311 -- not a secret

    def measure(self, chosen: TuneSetting) -> TuneTrial:
        self.runs += 1
        noise = self._noise.gauss(0, 0.01)
        return TuneTrial(chosen, max(self._seconds[chosen.threads] + noise, 0.01), 1.0)


@pytest.mark.parametrize(
    ("seconds", "times"), [(0.01, 5), (0.2, 5), (0.25, 4), (0.6, 2), (1.0, 1), (30.0, 1)]
)
def test_times_more(seconds: float, times: int) -> None:
    assert times_more(seconds) == times


def test_a_long_run_is_not_repeated_more_often() -> None:
    machine = Machine({1: 9.0, 2: 8.0}, seed=1)
    confirm(setting(2), setting(1), machine.measure, 10)
    assert machine.runs == 20


def test_short_runs_choose_the_same_each_time() -> None:
    """0.01 s of noise on 0.15 s: with three rounds another setting wins now and then."""
    seconds = {1: 0.16, 2: 0.15, 4: 0.135}
    chosen = {
        play_off([setting(n) for n in seconds], Machine(seconds, seed).measure).threads
        for seed in range(20)
    }
    assert chosen == {4}


def test_noise_is_not_called_faster() -> None:
    faster = [
        confirm(setting(2), setting(1), Machine({1: 0.15, 2: 0.15}, seed).measure).is_faster
        for seed in range(40)
    ]
    assert sum(faster) <= 2


def test_a_short_run_must_gain_more() -> None:
    """A tenth of 0.15 s is not worth a file; a tenth of 9 s is."""
    short = confirm(setting(2), setting(1), Machine({1: 0.15, 2: 0.136}, seed=1).measure)
    assert short.ratio.low > 1
    assert not short.is_faster
    assert confirm(setting(2), setting(1), Machine({1: 9.0, 2: 8.16}, seed=1).measure).is_faster
    large = confirm(setting(2), setting(1), Machine({1: 0.3, 2: 0.2}, seed=1).measure)
    assert large.is_faster
