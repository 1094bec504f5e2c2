"""What a service does ten times a second: measure the event loop, write gauges, look around."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._service.counters import Counters
    from tokenmill._service.door import Door
    from tokenmill._service.memory import MemoryGuard

TICK = 0.1  # seconds
_LOOKS = 5  # ticks between two looks at the memory, which take 10 us each


class Ticker:
    """A timer of the event loop, as long as the service runs."""

    def __init__(
        self,
        door: Door,
        counters: Counters,
        guard: MemoryGuard,
        watchers: list[Callable[[], object]],
    ) -> None:
        self._door = door
        self._counters = counters
        self._guard = guard
        self._watchers = watchers
        self._count = 0
        self._loop = asyncio.get_running_loop()
        self._plan()

    def _plan(self) -> None:
        expected = self._loop.time() + TICK
        self._timer = self._loop.call_at(expected, self._tick, expected)

    def _tick(self, expected: float) -> None:
        self._plan()  # first: a watcher that raises does not end the ticks
        self._counters.lag(max(0.0, self._loop.time() - expected))
        self._counters.gauges(self._door.inflight, self._door.queued)
        self._count += 1
        if self._count % _LOOKS == 0:
            self._door.shed_for("memory", is_on=self._guard.look())
        for watcher in self._watchers:
            watcher()

    def stop(self) -> None:
        """End the ticks."""
        self._timer.cancel()
