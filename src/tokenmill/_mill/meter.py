"""What a run has done so far, counted by its workers and read by its progress display."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokenmill._stats import STAGES, RunStats, StageTotal, WordCounts, stages_of, words_of
from tokenmill._timeline import Timeline, current, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokenmill._core import CallCounts

# `pack` has the first two phases, one after the other; `convert`, `reshard` and `merge` the third.
TOKENIZE, PACK, REWRITE = "tokenize", "pack", "rewrite"
PHASES = (TOKENIZE, PACK, REWRITE)
READING = (TOKENIZE, REWRITE)  # in these, bytes of input tell how far the run has come


@dataclass
class Meter:
    """Counters of one run, which has so many `threads` of workers."""

    total_bytes: int = 0  # of the inputs, as stored
    phase: str = TOKENIZE
    input_bytes: int = 0
    documents: int = 0
    tokens: int = 0
    resumed_bytes: int = 0  # of input_bytes: done by an earlier run; the next two likewise
    resumed_documents: int = 0
    resumed_tokens: int = 0
    bad: int = 0
    reasons: Counter[str] = field(default_factory=Counter)  # of bad records
    shards: int = 0
    total_shards: int = 0
    packed_tokens: int = 0
    total_tokens: int = 0
    seconds_left: float | None = None  # as the heartbeat has found, over both phases
    threads: int = 1
    words: WordCounts = field(default_factory=WordCounts)
    memory: dict[str, int] = field(default_factory=dict)  # bytes by owner, at the end
    began: float = field(default_factory=time.perf_counter)
    ended: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _timelines: list[Timeline] = field(default_factory=list)  # of threads at work
    _done: dict[str, StageTotal] = field(default_factory=dict)  # by threads that have ended
    # What processes elsewhere have counted, by a name for each: stages, and words.
    _elsewhere: dict[str, tuple[Mapping[str, StageTotal], WordCounts]] = field(default_factory=dict)

    def add(self, **counts: int) -> None:
        """Add to counters by name."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def add_bad(self, reasons: Mapping[str, int]) -> None:
        """Count bad records by reason."""
        with self._lock:
            self.reasons.update(reasons)
            self.bad += sum(reasons.values())

    @contextmanager
    def worker(self) -> Iterator[None]:
        """Count what this thread does in the block, by stage; nothing if that is done already."""
        if current() is not None:
            yield
            return
        timeline = Timeline()
        with self._lock:
            self._timelines.append(timeline)
        try:
            with opened(timeline):
                yield
        finally:
            with self._lock:
                self._timelines.remove(timeline)
                self._done = _sum(self._done, _stages(timeline))

    def count_call(self, counts: CallCounts) -> None:
        """Add what a call of the core has counted, which this thread has made."""
        counted = counts.as_dict()
        self.count(stages_of(counted), words_of(counted), max(counted["threads"], 1))

    def count(self, stages: Mapping[str, StageTotal], words: WordCounts, threads: int) -> None:
        """Add what a call of this thread has counted, on so many threads."""
        if (timeline := current()) is not None:
            timeline.credit(
                {name: (total.seconds, total.bytes) for name, total in stages.items()}, threads
            )
        with self._lock:
            self.words += words

    def hear(self, name: str, stages: Mapping[str, StageTotal], words: WordCounts) -> None:
        """Take what another process has counted so far, instead of what it has told before."""
        with self._lock:
            self._elsewhere[name] = (stages, words)

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return (self.ended or time.perf_counter()) - self.began

    def end(self, memory: dict[str, int]) -> None:
        """Stop the clock: the run is over, and had so much memory."""
        self.ended = time.perf_counter()
        self.memory = memory

    @property
    def stages(self) -> dict[str, float]:
        """Seconds that workers have spent in each stage so far."""
        return {name: total.seconds for name, total in self.totals().items()}

    def stats(self) -> RunStats:
        """Return the counters so far. A thread that had nothing to do was waiting for input."""
        stages, seconds = self.totals(), self.seconds
        idle = seconds * self.threads - sum(total.seconds for total in stages.values())
        waited = stages.get("wait_input", StageTotal())
        stages["wait_input"] = StageTotal(waited.seconds + max(idle, 0.0), waited.bytes)
        in_order = {name: stages[name] for name in STAGES if name in stages}
        with self._lock:
            words = sum((told for _, told in self._elsewhere.values()), self.words)
        return RunStats(seconds, self.threads, in_order, words, dict(self.memory))

    def bottleneck(self) -> str:
        """Name the stage that workers spent most of their time in."""
        stages = self.stages
        return max(stages, key=stages.__getitem__, default="")

    def totals(self) -> dict[str, StageTotal]:
        """Return what workers have spent in each stage so far, without waits that nobody noted."""
        with self._lock:
            total = self._done
            for timeline in self._timelines:
                total = _sum(total, _stages(timeline))
            for stages, _ in self._elsewhere.values():
                total = _sum(total, stages)
        return dict(total)


def _stages(timeline: Timeline) -> dict[str, StageTotal]:
    return {name: StageTotal(*counted) for name, counted in timeline.read().items()}


def _sum(total: dict[str, StageTotal], more: Mapping[str, StageTotal]) -> dict[str, StageTotal]:
    out = dict(total)
    for name, counted in more.items():
        before = out.get(name, StageTotal())
        out[name] = StageTotal(before.seconds + counted.seconds, before.bytes + counted.bytes)
    return out
