"""What each process of a service is and uses now: one row of numbers, in memory that they share.

`Counters` counts requests as they end. A gauge is written once a second by its process, and any
process adds the rows up or takes the worst one.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ACTIONS = ("shed", "shrink_cache", "release_tables", "fail_readiness")
NAMES = (
    "alive",  # 1 while the process serves
    "ready",
    "in_line",  # requests that wait for the event loop, before the service has seen them
    "resident_bytes",
    "memory_ratio",  # of the limit; 0 without one
    "model_bytes",
    "table_bytes",
    "cache_bytes",
    "cache_hits",
    "cache_misses",
    "cache_hit_tokens",
    "cache_saved_seconds",
    "cache_differences",
    "failures",  # requests that ended with an error of the service
    "health_events",
    "restarts",  # how often this row got a new process; the parent counts
    *(f"doing_{action}" for action in ACTIONS),
)
_PLACES = {name: place for place, name in enumerate(NAMES)}


class Gauges:
    """The rows of all processes; make it before the fork, and write only your own row."""

    def __init__(self, rows: int = 1) -> None:
        self._memory = mmap.mmap(-1, rows * len(NAMES) * 8)  # shared with forked processes
        table: NDArray[np.float64] = np.frombuffer(self._memory, np.float64)
        self._table = table.reshape(rows, len(NAMES))

    def __len__(self) -> int:
        return len(self._table)

    def write(self, row: int, values: Mapping[str, float]) -> None:
        """Set some gauges of a row."""
        for name, value in values.items():
            self._table[row, _PLACES[name]] = value

    def add(self, row: int, name: str, value: float = 1.0) -> None:
        """Add to a gauge of a row that counts something."""
        self._table[row, _PLACES[name]] += value

    def all_ready(self) -> bool:
        """Whether every process that serves is ready; one that is gone does not count."""
        alive, ready = (self._table[:, _PLACES[name]] for name in ("alive", "ready"))
        return bool((ready >= alive).all())

    def sum(self, name: str) -> float:
        """Add up the rows."""
        return float(self._table[:, _PLACES[name]].sum())

    def most(self, name: str) -> float:
        """Return the largest value of all rows."""
        return float(self._table[:, _PLACES[name]].max())

    def least(self, name: str) -> float:
        """Return the smallest value of all rows."""
        return float(self._table[:, _PLACES[name]].min())
