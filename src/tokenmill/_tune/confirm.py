"""A candidate against the defaults, in turn: faster beyond the noise, or not.

A search over noise finds a winner, too. So the candidate is measured again, in pairs with the
defaults, each run in a fresh process, and nothing of the search counts here.
"""

from __future__ import annotations

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
LEAST_GAIN = 0.03  # of the time: less is not worth a file
_ROUNDS = 3


@dataclass(frozen=True)
class Confirmation:
    """How much faster a candidate is: the defaults' time over its own, pair by pair."""

    candidate: TuneSetting
    ratio: Interval

    @property
    def is_faster(self) -> bool:
        """Whether all of the interval is on the right side, and the gain is worth it."""
        return self.ratio.low > 1 and self.ratio.value >= 1 + LEAST_GAIN


def play_off(
    candidates: Sequence[TuneSetting], measure: Callable[[TuneSetting], TuneTrial]
) -> TuneSetting:
    """Return the best of a few candidates, measured in turn."""
    if len(candidates) == 1:
        return candidates[0]
    rounds = [[measure(setting).seconds for setting in candidates] for _ in range(_ROUNDS)]
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    return candidates[medians.index(min(medians))]


def confirm(
    candidate: TuneSetting,
    default: TuneSetting,
    measure: Callable[[TuneSetting], TuneTrial],
    pairs: int = PAIRS,
) -> Confirmation:
    """Measure both in turn, each first every other time."""
    ratios = []
    for number in range(pairs):
        order = (candidate, default) if number % 2 else (default, candidate)
        seconds = {setting: measure(setting).seconds for setting in order}
        ratios.append(seconds[default] / seconds[candidate])
    return Confirmation(candidate, median_interval(ratios))
