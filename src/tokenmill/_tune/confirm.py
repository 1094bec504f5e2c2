"""A candidate against the defaults, in turn: faster beyond the noise, or not.

A search over noise finds a winner, too. So the candidate is measured again, in pairs with the
defaults, each run in a fresh process, and nothing of the search counts here.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._bench.intervals import median_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._bench.intervals import Interval
    from tokenmill._tune.search import TuneTrial
    from tokenmill._tune.space import TuneSetting

PAIRS = 10
LEAST_GAIN = 0.03  # of the time of a run of a second; less is not worth a file
_ROUNDS = 3
# Runs of a tenth of a second differ by more than settings do: they are repeated more often, and
# must gain more.
_SURE_SECONDS = 1.0
_MOST_TIMES = 5


@dataclass(frozen=True)
class Confirmation:
    """How much faster a candidate is: the defaults' time over its own, pair by pair."""

    candidate: TuneSetting
    ratio: Interval
    least_gain: float = LEAST_GAIN

    @property
    def is_faster(self) -> bool:
        """Whether all of the interval is on the right side, and the gain is worth it."""
        return self.ratio.low > 1 and self.ratio.value >= 1 + self.least_gain


def times_more(seconds: float) -> int:
    """Return how many times as often runs that are this short are repeated."""
    return max(1, min(_MOST_TIMES, math.ceil(_SURE_SECONDS / seconds)))


def play_off(
    candidates: Sequence[TuneSetting], measure: Callable[[TuneSetting], TuneTrial]
) -> TuneSetting:
    """Return the best of a few candidates, measured in turn."""
    if len(candidates) == 1:
        return candidates[0]
    rounds = [[measure(setting).seconds for setting in candidates]]
    number = _ROUNDS * times_more(max(rounds[0]))
    rounds += [[measure(setting).seconds for setting in candidates] for _ in range(1, number)]
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    return candidates[medians.index(min(medians))]


def confirm(
    candidate: TuneSetting,
    default: TuneSetting,
    measure: Callable[[TuneSetting], TuneTrial],
    pairs: int = PAIRS,
) -> Confirmation:
    """Measure both in turn, each first every other time; short runs more often."""
    ratios: list[float] = []
    more, wanted = 1, pairs
    while len(ratios) < wanted:
        order = (candidate, default) if len(ratios) % 2 else (default, candidate)
        seconds = {setting: measure(setting).seconds for setting in order}
        if not ratios:
            more = times_more(seconds[default])
            wanted = pairs * more
        ratios.append(seconds[default] / seconds[candidate])
    return Confirmation(candidate, median_interval(ratios), LEAST_GAIN * more)
