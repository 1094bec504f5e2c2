"""How fast a run is: its counters over the last half minute, and the last ten, within a phase."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._mill.meter import Meter

WINDOW_SECONDS = 30.0
_LONG_SECONDS = 600.0
COUNTED = ("input_bytes", "documents", "tokens", "packed_tokens")
_RESUMED = {
    "input_bytes": "resumed_bytes",
    "documents": "resumed_documents",
    "tokens": "resumed_tokens",
}


@dataclass(frozen=True)
class _Sample:
    seconds: float
    counts: tuple[int, ...]
    stages: dict[str, float]


class RecentRates:
    """Samples of a meter, one at each `note`, and the rates between the oldest and the newest."""

    def __init__(self, window: float = WINDOW_SECONDS) -> None:
        self._window = window
        self._samples: deque[_Sample] = deque([_Sample(0.0, (0,) * len(COUNTED), {})])
        self._phase = ""
        self._changed = 0.0

    def note(self, meter: Meter, stages: dict[str, float]) -> None:
        """Take a sample; `stages` are the seconds of all workers so far."""
        sample = _Sample(meter.seconds, _counts(meter), stages)
        last = self._samples[-1]
        if sample.counts != last.counts or meter.phase != self._phase:
            self._changed = sample.seconds
        if self._phase not in ("", meter.phase):  # what one phase does, the other does not
            self._samples = deque([last])
        self._phase = meter.phase
        self._samples.append(sample)
        # The sample before the window stays: counters change in steps, a block at a time.
        begin = sample.seconds - self._window
        while len(self._samples) > 2 and self._samples[1].seconds <= begin:  # noqa: PLR2004
            self._samples.popleft()

    @property
    def seconds(self) -> float:
        """The time between the oldest and the newest sample."""
        return self._samples[-1].seconds - self._samples[0].seconds

    @property
    def still_seconds(self) -> float:
        """How long no counter has changed."""
        return self._samples[-1].seconds - self._changed

    def of(self, name: str) -> float:
        """Return how much a counter grew in a second."""
        at = COUNTED.index(name)
        grown = self._samples[-1].counts[at] - self._samples[0].counts[at]
        return grown / self.seconds if self.seconds > 0 else 0.0

    def stages(self) -> dict[str, float]:
        """Return the seconds that workers spent in each stage."""
        before = self._samples[0].stages
        now = self._samples[-1].stages
        return {name: spent - before.get(name, 0.0) for name, spent in now.items()}


class Speeds:
    """The rates of now, and those of the last ten minutes, which say more about the next ones."""

    def __init__(self) -> None:
        self.now = RecentRates()
        self.steady = RecentRates(_LONG_SECONDS)

    def note(self, meter: Meter, stages: dict[str, float]) -> None:
        """Take a sample."""
        self.now.note(meter, stages)
        self.steady.note(meter, stages)

    def seconds_for(self, name: str, left: float) -> float | None:
        """Return how long a counter needs to grow by `left`; None if it does not grow.

        The longer that is, the less the last half minute counts.
        """
        steady = self.steady.of(name)
        if steady <= 0:
            return None
        near = WINDOW_SECONDS / (WINDOW_SECONDS + left / steady)
        return left / (near * self.now.of(name) + (1 - near) * steady) if left else 0.0


def _counts(meter: Meter) -> tuple[int, ...]:
    """Return the counters; what an earlier run did is not this one's speed."""
    return tuple(
        getattr(meter, name) - (getattr(meter, _RESUMED[name]) if name in _RESUMED else 0)
        for name in COUNTED
    )
