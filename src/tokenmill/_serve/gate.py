"""Refusals before a body is read: a server without room does not take 100 KB to say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import Overloaded
from tokenmill._serve.faults import answer_of

if TYPE_CHECKING:
    from tokenmill._serve.messages import HttpAnswer
    from tokenmill._service import Service


class Gate:
    """Counts requests from their header to their answer, by the limits of the service.

    The service would refuse them too, but only after their bodies were read and parsed, which for
    32,000 tokens is a quarter of the work. Under twice the load that a server can take, all those
    refusals together would leave too little for the requests it does take (log 2026-11-18).
    """

    def __init__(self, service: Service) -> None:
        limits = service.limits
        self._counters = service.counters
        self._place = self._counters.place(0, "encode")
        self._small = limits.inline_bytes
        self._most = limits.max_inflight + limits.max_queue
        self._most_bytes = limits.max_queue_bytes
        self._waiting = 0
        self._bytes = 0

    def is_large(self, size: int) -> bool:
        """Whether a request of this length is counted."""
        return size > self._small

    def refusal(self, size: int) -> HttpAnswer | None:
        """Return the answer to a request of this length, if there is no room for it."""
        if not self.is_large(size):
            return None
        if self._waiting >= self._most:
            return self._refused("max_queue")
        if self._waiting and self._bytes + size > self._most_bytes:
            return self._refused("max_queue_bytes")
        return None

    def enter(self, size: int) -> None:
        """Count a request whose length is known."""
        self._waiting += 1
        self._bytes += size

    def leave(self, size: int) -> None:
        """Forget a request that was answered, or whose client is gone."""
        self._waiting -= 1
        self._bytes -= size

    def _refused(self, reason: str) -> HttpAnswer | None:
        self._counters.rejected(self._place, reason)
        problem = f"no room for another request ({reason})"
        return answer_of(Overloaded(problem, reason=reason, retry_after=1.0))
