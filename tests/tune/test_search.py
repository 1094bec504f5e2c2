"""The search finds what a grid finds; what is within the noise is not confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.tune.simulated import Simulated, one_core, one_gz_file, plain, space

from tokenmill._tune.confirm import confirm, play_off
from tokenmill._tune.search import SearchBudget, TuneTrial, ranked, search
from tokenmill._tune.tune import tune

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._tune.space import TuneSetting

pytest.importorskip("optuna", reason="the extra `tune`")
BUDGET = SearchBudget(trials=40, seconds=1e9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("truth", "threads"), [(one_core, 1), (one_gz_file, 2), (one_gz_file, 16), (plain, 16)]
)
def test_the_result_is_that_of_a_grid_or_nothing_is_set(
    truth: Callable[[TuneSetting], float], threads: int, seed: int
) -> None:
    where = space(threads)
    best = min(map(truth, where.grid()))
    report = tune(where, Simulated(truth, seed=seed), BUDGET)
    chosen, default = truth(report.chosen), truth(where.default)
    assert chosen <= default
    if report.changes:
        assert chosen < 0.98 * default
        assert chosen <= 1.05 * best
    else:
        assert default <= 1.05 * best


def test_a_large_gain_is_found_with_fewer_runs_than_the_grid_has() -> None:
    where = space(16)
    measure = Simulated(plain)
    report = tune(where, measure, BUDGET)
    assert report.changes
    assert len(measure.runs) < where.size / 3


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_never_written(seed: int) -> None:
    report = tune(space(8), Simulated(lambda _: 1.0, noise=0.1, seed=seed), SearchBudget(20, 1e9))
    assert report.changes == {}


def test_the_default_is_the_first_trial_and_time_ends_the_search() -> None:
    ticks = iter(range(1000))
    where = space(4)
    trials = search(where, Simulated(plain), SearchBudget(100, 5), clock=lambda: float(next(ticks)))
    assert trials[0].setting == where.default
    assert len(trials) == 5
    late = search(where, Simulated(plain), SearchBudget(100, -1))
    assert [trial.setting for trial in late] == [where.default]


def test_a_setting_counts_by_the_median_of_its_runs() -> None:
    a, b = list(space(1).grid())[:2]
    trials = [TuneTrial(a, 1.0), TuneTrial(b, 2.0), TuneTrial(a, 9.0), TuneTrial(a, 3.0)]
    assert ranked(trials) == [(b, 2.0), (a, 3.0)]


def test_pairs_take_turns_and_one_lucky_run_is_not_enough() -> None:
    slow, fast = list(space(1).grid())[:2]
    measure = Simulated(lambda setting: 1.0 if setting == fast else 1.2, noise=0.001)
    found = confirm(fast, slow, measure, pairs=6)
    assert measure.runs == [slow, fast, fast, slow] * 3
    assert found.is_faster
    assert 1.19 < found.ratio.low <= found.ratio.high < 1.21
    times = iter([1.0, 0.1, *[1.0, 1.0] * 5])
    assert not confirm(fast, slow, lambda s: TuneTrial(s, next(times)), pairs=6).is_faster


def test_less_than_three_percent_is_not_worth_a_file() -> None:
    slow, fast = list(space(1).grid())[:2]
    measure = Simulated(lambda setting: 1.0 if setting == fast else 1.02, noise=0.0001)
    found = confirm(fast, slow, measure)
    assert found.ratio.low > 1
    assert not found.is_faster


def test_finalists_meet_again_in_turn() -> None:
    settings = list(space(2).grid())[:3]
    truth = dict(zip(settings, (1.0, 0.9, 1.1), strict=True))
    assert play_off(settings, Simulated(truth.__getitem__)) == settings[1]
    only = Simulated(lambda _: 1.0)
    assert play_off(settings[:1], only) == settings[0]
    assert only.runs == []
