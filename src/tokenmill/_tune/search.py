"""The search: Optuna's TPE sampler proposes settings, a runner measures them.

TPE models which choices the fast trials have in common, so it needs far fewer runs than a grid once
there are many cores; on a small space it soon repeats itself, and a setting that was measured
several times counts by its median.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._errors import MissingDependency
from tokenmill._tune.space import TuneSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._tune.space import TuneSpace

_SEED = 15
_MOST_STARTS = 10  # trials at random before the sampler has a model


@dataclass(frozen=True)
class TuneTrial:
    """One run of a setting: what it took."""

    setting: TuneSetting
    seconds: float
    memory_mb: float = 0.0


@dataclass(frozen=True)
class SearchBudget:
    """How much may be tried: a number of runs, and seconds for all of them."""

    trials: int
    seconds: float


def search(
    space: TuneSpace,
    measure: Callable[[TuneSetting], TuneTrial],
    budget: SearchBudget,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> list[TuneTrial]:
    """Measure settings, the default one first, until the budget is used up."""
    optuna = import_optuna()
    starts = max(2, min(_MOST_STARTS, budget.trials // 3))
    sampler = optuna.samplers.TPESampler(seed=_SEED, n_startup_trials=starts)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial(space.default.as_dict())
    done: list[TuneTrial] = []
    end = clock() + budget.seconds
    while len(done) < budget.trials and (not done or clock() < end):
        asked = study.ask()
        trial = measure(_setting(space, asked))
        study.tell(asked, trial.seconds)
        done.append(trial)
    return done


def ranked(trials: Sequence[TuneTrial]) -> list[tuple[TuneSetting, float]]:
    """Return settings with the median of their times, the fastest first."""
    times: dict[TuneSetting, list[float]] = defaultdict(list)
    for trial in trials:
        times[trial.setting].append(trial.seconds)
    medians = [(setting, statistics.median(seconds)) for setting, seconds in times.items()]
    return sorted(medians, key=lambda pair: pair[1])


def _setting(space: TuneSpace, asked: Any) -> TuneSetting:
    found: dict[str, Any] = {}
    for name, values in space.choices.items():
        if name == "threads":  # a number: neighbours are alike
            found[name] = asked.suggest_int(name, values[0], values[-1])
        else:
            found[name] = asked.suggest_categorical(name, values)
    return TuneSetting(**found)


def import_optuna() -> Any:
    """Return the library; MissingDependency if it is not installed."""
    try:
        import optuna
    except ImportError as error:
        raise MissingDependency(
            "needed to search for settings", name="optuna", hint="pip install 'tokenmill[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
