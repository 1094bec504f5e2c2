"""What a service does now and then: measure the event loop, write gauges, look at memory."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._service.counters import Counters
    from tokenmill._service.door import Door
    from tokenmill._service.memory import MemoryGuard

TICK = 0.1  # seconds
_LOOKS = 5  # ticks between two looks at the memory, which take 10 us each
IDLE_SECONDS = 60.0  # without a request, after which tables are given back


class Ticker:
    """A timer of the event loop, ten times a second as long as the service runs."""

    def __init__(
        self, door: Door, counters: Counters, guard: MemoryGuard, release: Callable[[], None]
    ) -> None:
        """Begin; `release` gives memory back that the next requests make again."""
        self._release = release
        self._idle_since = 0.0  # the last request when `release` was called
        self._door = door
        self._counters = counters
        self._guard = guard
        self._count = 0
        self._loop = asyncio.get_running_loop()
        self._plan()

    def _plan(self) -> None:
        expected = self._loop.time() + TICK
        self._timer = self._loop.call_at(expected, self._tick, expected)

    def _tick(self, expected: float) -> None:
        self._plan()
        self._counters.lag(max(0.0, self._loop.time() - expected))
        self._counters.gauges(self._door.inflight, self._door.queued)
        self._count += 1
        if self._count % _LOOKS == 0:
            self._door.shed_for("memory", is_on=self._guard.look())
            self._release_if_idle()

    def _release_if_idle(self) -> None:
        last = self._door.last_call
        if last != self._idle_since and perf_counter() - last > IDLE_SECONDS:
            self._idle_since = last
            self._release()

    def stop(self) -> None:
        """End the ticks."""
        self._timer.cancel()
