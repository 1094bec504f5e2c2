"""One heartbeat of a run: what it has done, how fast it is, and who it is, as plain values."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._mill.output.process_facts import process_facts
from tokenmill._mill.progress import peak_memory_mb
from tokenmill._mill.watch.outlook import Goals, seconds_left, share_done
from tokenmill._mill.watch.recent import Speeds
from tokenmill._platform.memory import resident_bytes
from tokenmill._stats import owners_of

if TYPE_CHECKING:
    from tokenmill._mill.meter import Meter
    from tokenmill._tokenizer import Tokenizer

FORMAT = 1
EVERY_SECONDS = 1.0
_COUNTS = (
    "input_bytes", "total_bytes", "resumed_bytes", "documents", "tokens", "bad", "shards",
    "total_shards", "packed_tokens", "total_tokens",
)  # fmt: skip
_MEGA = 1_000_000


@dataclass
class Pulse:
    """Makes the heartbeats of one run. `extra` are facts that never change, such as its output."""

    meter: Meter
    goals: Goals = field(default_factory=Goals)
    workers: int = 1
    extra: dict[str, Any] = field(default_factory=dict)
    tokenizer: Tokenizer | None = None

    def __post_init__(self) -> None:
        self._speeds = Speeds()
        self._number = 0
        self._process = process_facts()

    def beat(self, state: str = "running", error: str | None = None) -> dict[str, Any]:
        """Return the next heartbeat."""
        meter = self.meter
        stats = meter.stats()
        stages = {name: total.seconds for name, total in stats.stages.items()}
        self._speeds.note(meter, stages)
        self._number += 1
        left = seconds_left(meter, self._speeds, self.goals, self.workers)
        meter.seconds_left = left
        return {
            "format": FORMAT,
            "beat": self._number,
            "every_seconds": EVERY_SECONDS,
            "written_at": round(time.time(), 3),  # by the clock of this machine
            "state": state,
            "error": error,
            **self._process,
            **self.extra,
            "workers": self.workers,
            "phase": meter.phase,
            "done": share_done(meter, self.goals),
            "eta_seconds": None if left is None else round(left, 1),
            "seconds": round(meter.seconds, 3),
            "still_seconds": round(self._speeds.now.still_seconds, 1),
            **{name: getattr(meter, name) for name in _COUNTS},
            "bad_reasons": dict(meter.reasons),
            "rates": self._rates_now(),
            "stages": _rounded(stages),
            "recent_stages": _rounded(recent := self._speeds.now.stages()),
            "bottleneck": max(recent, key=recent.__getitem__, default=""),
            "words": stats.as_json()["words"],
            "memory": {**memory_now(), **self._owners()},
        }

    def _owners(self) -> dict[str, int]:
        return {} if self.tokenizer is None else owners_of(self.tokenizer.memory())

    def _rates_now(self) -> dict[str, float]:
        rates = self._speeds.now
        return {
            "window_seconds": round(rates.seconds, 1),
            "bytes_per_second": round(rates.of("input_bytes"), 1),
            "documents_per_second": round(rates.of("documents"), 2),
            "tokens_per_second": round(rates.of("tokens"), 1),
            "packed_tokens_per_second": round(rates.of("packed_tokens"), 1),
        }


def _rounded(stages: dict[str, float]) -> dict[str, float]:
    return {name: round(spent, 3) for name, spent in stages.items()}


def memory_now() -> dict[str, int]:
    """Return the memory of this process in bytes: what is resident, and the most there was."""
    peak = int(peak_memory_mb() * _MEGA)
    resident = resident_bytes()
    if resident is None:
        return {"peak": peak}
    return {"resident": resident, "peak": max(peak, resident)}
