"""What a run has done so far, counted by its workers and read by its progress display."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Meter:
    """Counters of one run. `stages` holds the seconds that workers spent in each stage."""

    total_bytes: int = 0  # of the inputs, as stored
    phase: str = "tokenize"
    input_bytes: int = 0
    documents: int = 0
    tokens: int = 0
    resumed_bytes: int = 0  # of input_bytes: done by an earlier run; the next two likewise
    resumed_documents: int = 0
    resumed_tokens: int = 0
    bad: int = 0
    shards: int = 0
    total_shards: int = 0
    packed_tokens: int = 0
    total_tokens: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.perf_counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **counts: int) -> None:
        """Add to counters by name."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage of one worker."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.stages[name] += time.perf_counter() - begin  # type: ignore[assignment]

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.perf_counter() - self.began

    def bottleneck(self) -> str:
        """Name the stage that workers spent most of their time in."""
        with self._lock:
            return max(self.stages, key=self.stages.__getitem__, default="")
