"""The stages of a thread: every moment of it belongs to the innermost stage that is open.

Rooms say what they are doing with `stage`; they need not know whether anybody counts. The owner
of the thread opens a Timeline in it. Names are those of `_stats.STAGES`.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AWAY = ""  # a stage that nobody counts: others do the work
_REST = "other"
_thread = threading.local()


class Timeline:
    """Seconds and bytes of one thread by stage. Other threads may read it at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = {}
        self._bytes: dict[str, int] = {}
        self._open = [_REST]
        self._since = time.perf_counter()

    def enter(self, name: str) -> None:
        """Begin a stage inside the one that is open."""
        with self._lock:
            self._pass()
            self._open.append(name)

    def leave(self, size: int) -> None:
        """End the innermost stage, which has worked on so many bytes."""
        with self._lock:
            self._pass()
            self._add(self._open.pop(), 0.0, size)

    def credit(self, stages: Mapping[str, tuple[float, int]], threads: int = 1) -> None:
        """Give some of the time of the open stage to others: a call of the core tells which.

        If it used several threads, their owners were waiting for it.
        """
        with self._lock:
            for name, (seconds, size) in stages.items():
                self._add(name, seconds / threads, size)
                self._add(self._open[-1], -seconds / threads, 0)

    def add_bytes(self, name: str, size: int) -> None:
        """Count bytes that a stage has worked on."""
        with self._lock:
            self._add(name, 0.0, size)

    def read(self) -> dict[str, tuple[float, int]]:
        """Return seconds and bytes by stage up to now."""
        with self._lock:
            self._pass()
            names = {**self._seconds, **self._bytes}
            return {
                name: (self._seconds.get(name, 0.0), self._bytes.get(name, 0))
                for name in names
                if name != AWAY
            }

    def _pass(self) -> None:
        now = time.perf_counter()
        self._add(self._open[-1], now - self._since, 0)
        self._since = now

    def _add(self, name: str, seconds: float, size: int) -> None:
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds
        if size:
            self._bytes[name] = self._bytes.get(name, 0) + size


def current() -> Timeline | None:
    """Return the timeline of this thread, if somebody has opened one."""
    return getattr(_thread, "timeline", None)


@contextmanager
def opened(timeline: Timeline) -> Iterator[None]:
    """Let everything that this thread does in the block count there."""
    before = current()
    _thread.timeline = timeline
    try:
        yield
    finally:
        _thread.timeline = before


@contextmanager
def stage(name: str, size: int = 0) -> Iterator[None]:
    """Say that this thread is in a stage during the block, with so many bytes."""
    timeline = current()
    if timeline is None:
        yield
        return
    timeline.enter(name)
    try:
        yield
    finally:
        timeline.leave(size)


def add_bytes(name: str, size: int) -> None:
    """Count bytes of a stage that were not known when it began."""
    if (timeline := current()) is not None:
        timeline.add_bytes(name, size)


def hand_over(name: str, seconds: float) -> None:
    """Say that so much of the time of the open stage belongs to another one."""
    if seconds and (timeline := current()) is not None:
        timeline.credit({name: (seconds, 0)})
