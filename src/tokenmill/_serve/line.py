"""Requests that wait for their turn on the event loop, in the order in which they were read.

One round of the loop gives requests a millisecond, or three times what the round before took to
read and to refuse others; what came in meanwhile waits here, as a connection in a list: a future,
a task and a timer for each would cost more than to answer it.

::

    time left in this round, and nobody waits? ----------> answered at once
    fewer than `max_queue` wait? ------------------------> waits
    refusals have had a tenth of the time? --------------> waits too, for up to half of `timeout`
    else ------------------------------------------------> 503 at once

A refusal costs a quarter of a request of 1,000 tokens, and a client that is refused asks again. So
a server that refuses all it cannot take soon does little else (log 2026-11-18). And one that is
slow because it refuses would refuse still more: so requests have three quarters of the time, and
what the others take counts as theirs only up to a bound.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING

from tokenmill._serve.faults import error_answer, no_room

if TYPE_CHECKING:
    from tokenmill._serve.connection import Connection
    from tokenmill._serve.messages import HttpAnswer
    from tokenmill._service import Service

_ROUND_SECONDS = 1e-3  # of all requests in one round of the event loop, at least
_LONGEST_ROUND = 0.03
_PER_GAP = 3.0  # seconds of a round for each one that reading and refusing took before it
_MOST_OVERHEAD = 2.5  # times its own seconds: a request is never thought to take longer than that
_REFUSAL_SECONDS = 1e-5  # to read a request and refuse it (Zen 4, 2026-11-18)
_REFUSAL_SHARE = 0.1  # of the time of requests
_MOST_CREDIT = 2e-3
_WEIGHT = 1 / 64


class Line:
    """The line of one worker; connections call it on its event loop."""

    def __init__(self, service: Service) -> None:
        limits = service.limits
        self._counters = service.counters
        self._place = self._counters.place(0, "encode")
        self._renew_turn = service.renew_turn  # which has an end of its own
        self._most = limits.max_queue
        self._most_bytes = limits.max_queue_bytes
        self._timeout = float("inf") if limits.timeout is None else limits.timeout
        self._waiting: deque[tuple[Connection, int, float]] = deque()
        self._bytes = 0
        self._seconds = 1e-5  # from one turn to the next, smoothed: reading others counts, too
        self._last = 0.0  # end of a round after which some still waited, or 0
        self._credit = _MOST_CREDIT  # seconds that refusals may take
        self._end = 0.0  # of this round
        self._is_planned = False
        self._is_used = False
        self._loop = asyncio.get_running_loop()
        self._full = {reason: no_room(reason) for reason in ("max_queue", "max_queue_bytes")}

    def __len__(self) -> int:
        return len(self._waiting)

    def has_time(self) -> bool:
        """Whether a request that was just read can be answered at once."""
        if self._waiting:
            return False
        self._is_used = True
        if self._is_planned:
            if perf_counter() >= self._end:
                return False
            self._renew_turn()
            return True
        self._is_planned = True
        self._end = perf_counter() + _ROUND_SECONDS
        self._loop.call_soon(self._turn)
        return True

    def refusal(self, size: int) -> HttpAnswer | None:
        """Return the answer to a request with a body of `size` bytes that is not to wait."""
        count = len(self._waiting)
        if self._bytes + size > self._most_bytes:
            reason = "max_queue_bytes"
        elif count * self._seconds > self._timeout / 2:
            reason = "max_queue"
        elif count < self._most or self._credit < _REFUSAL_SECONDS:
            return None
        else:
            reason = "max_queue"
            self._credit -= _REFUSAL_SECONDS
        self._counters.rejected(self._place, reason)
        return self._full[reason]

    def add(self, connection: Connection, size: int) -> None:
        """Let a connection wait; its `take_turn` is called when it is the first in line."""
        self._bytes += size
        self._waiting.append((connection, size, perf_counter()))

    def late(self, waited: float) -> HttpAnswer | None:
        """Return the answer to a request whose time was over before its turn came."""
        if waited < self._timeout:
            return None
        self._counters.ended(self._place, "timeout", 0, (waited, waited, 0.0))
        message = f"its turn came after {waited:.3g} s; it had {self._timeout:g} s"
        return error_answer(HTTPStatus.GATEWAY_TIMEOUT, message)

    def _turn(self) -> None:
        """Answer those in front, for the time of one round, and plan the next one."""
        try:
            self._answer_some()
        finally:  # whatever is wrong with one request, the others have their turn
            if self._waiting or self._is_used:
                self._is_used = False
                self._loop.call_soon(self._turn)
            else:
                self._is_planned = False

    def _answer_some(self) -> None:
        begin = now = perf_counter()
        last = self._last or begin
        self._end = begin + min(_LONGEST_ROUND, max(_ROUND_SECONDS, _PER_GAP * (begin - last)))
        waiting, count = self._waiting, 0
        while waiting and now < self._end:
            connection, size, since = waiting.popleft()
            self._bytes -= size
            self._counters.waited(now - since)
            self._renew_turn()
            connection.take_turn(now - since)
            now = perf_counter()
            count += 1
        if count:
            each = min(now - last, _MOST_OVERHEAD * (now - begin)) / count
            self._seconds += min(1.0, count * _WEIGHT) * (each - self._seconds)
            self._credit = min(_MOST_CREDIT, self._credit + _REFUSAL_SHARE * (now - begin))
        self._last = now if waiting else 0.0
