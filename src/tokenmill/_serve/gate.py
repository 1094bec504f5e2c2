"""Refusals before a body is read: a server without room does not take 100 KB to say so."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from tokenmill._serve.faults import no_room

if TYPE_CHECKING:
    from tokenmill._serve.messages import HttpAnswer
    from tokenmill._service import Service

_WEIGHT = 1 / 16


class Gate:
    """Counts large requests from their header to their answer, by the limits of the service.

    The service would refuse them too, but only after their bodies were read and parsed, which for
    32,000 tokens is a quarter of the work. Under twice the load that a server can take, all those
    refusals together would leave too little for the requests it does take. And a request that
    will probably wait for half of its time is refused, not taken: at the end of a long queue it
    would be too late, after others have waited for it (log 2026-11-18).
    """

    def __init__(self, service: Service) -> None:
        limits = service.limits
        self._counters = service.counters
        self._place = self._counters.place(0, "encode")
        self.small_bytes = limits.inline_bytes  # a longer request is a large one
        self._free = limits.max_inflight  # so many never wait
        self._most = limits.max_inflight + limits.max_queue
        self._most_bytes = limits.max_queue_bytes
        self._most_seconds = float("inf") if limits.timeout is None else limits.timeout / 2
        self._inside = 0
        self._bytes = 0
        self._pause = 0.0  # seconds from one answer to the next, smoothed
        self._last = 0.0  # answer, or the first request after a pause
        self._full = {reason: no_room(reason) for reason in ("max_queue", "max_queue_bytes")}

    def refusal(self, size: int) -> HttpAnswer | None:
        """Return the answer to a large request of this length, if there is no room for it."""
        if self._inside < self._free:
            return None
        if self._inside >= self._most or self._inside * self._pause > self._most_seconds:
            reason = "max_queue"
        elif self._bytes + size > self._most_bytes:
            reason = "max_queue_bytes"
        else:
            return None
        self._counters.rejected(self._place, reason)
        return self._full[reason]

    def enter(self, size: int) -> None:
        """Count a request whose length is known."""
        if not self._inside:
            self._last = perf_counter()
        self._inside += 1
        self._bytes += size

    def leave(self, size: int) -> None:
        """Forget a request that was answered, or whose client is gone."""
        self._inside -= 1
        self._bytes -= size
        now = perf_counter()
        self._pause += _WEIGHT * (now - self._last - self._pause)
        self._last = now
