"""The one door of a service: a call comes in and runs inline, on a thread, later, or not at all.

::

    refused?  shut, shed, too long, no room ---------------------> an error at once
    small and the loop has time left in this turn? --------------> runs here
    small, but this turn of the loop is used up? ----------------> next turns, in order
    up to `short_bytes`? ----------------------------------------> short lane   } threads
    longer? -----------------------------------------------------> long lane    }

A turn is one round of the event loop. What runs inline in one turn is bounded, so neither a
thousand tasks with a small text each nor one task that awaits in a loop keeps others waiting.
Nothing waits for a batch to fill: a wait would be longer than the work (decision 0012).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import CancelledError as StopCancelled
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from tokenmill._core import Stop
from tokenmill._errors import DeadlineExceeded, Overloaded, ServiceClosed, TextTooLong
from tokenmill._service.pending import Pending
from tokenmill._service.pool import LONG, SHORT, Bounds, Pool
from tokenmill._service.work import too_long

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._service.counters import Counters
    from tokenmill._service.limits import Limits
    from tokenmill._service.models import Pace, Tally

T = TypeVar("T")

INLINE_SECONDS = 7.5e-5  # of one request: what a thread and back costs (log 2026-11-18)
TURN_SECONDS = 1e-3  # of all inline requests in one round of the event loop
_WEIGHT = 1 / 16
_LEAST_RETRY = 1e-3
_NARROW = 16  # of the queue stays so much less while load is shed
LEAST_MEASURED = 1024  # bytes; below it a call costs more than the text


class Door:
    """Admission, inline work and the pool of one service, on the event loop that runs now."""

    def __init__(self, limits: Limits, counters: Counters) -> None:
        self.limits = limits
        self.counters = counters
        self.shed: str | None = None  # a reason to refuse everything for now, one of `_shed`
        self._shed: set[str] = set()
        self.is_closing = False
        self.last_call = perf_counter()
        self._max_queue = limits.max_queue
        self._loop = asyncio.get_running_loop()
        bounds = Bounds(limits.max_inflight, limits.max_queue, limits.max_queue_bytes, limits.nice)
        self._pool = Pool(bounds, self._loop, self._ended)
        self._inline: OrderedDict[Pending, Pace] = OrderedDict()
        self._spent = 0.0  # seconds of inline work in this turn
        self._turn_planned = False
        self._job_seconds = [1e-5, 1e-4, 1e-3]  # inline, short, long: what one took, smoothed
        self._drained: asyncio.Future[None] | None = None

    async def close(self, grace: float) -> None:
        """Take no more calls, wait `grace` seconds for those inside, and stop the others."""
        pool = self._pool
        self.is_closing = True
        if self._is_busy():
            self._drained = self._loop.create_future()
            await asyncio.wait([self._drained], timeout=grace)
        for job in [*self._inline, *pool.unfinished()]:
            job.stop.cancel()
            pool.discard(job)
            if not job.future.done():
                job.future.set_exception(ServiceClosed("the service was closed", hint="retry"))
        self._inline.clear()
        await pool.stop(max(grace, 1.0))

    @property
    def is_lost(self) -> bool:
        """Whether its event loop is closed: nobody can use or close it any more."""
        return self._loop.is_closed()

    def abandon(self) -> None:
        """Let the threads end; there is no event loop to wait on."""
        for job in self._pool.unfinished():
            job.stop.cancel()
        self._pool.let_go()

    def _is_busy(self) -> bool:
        return bool(self._inline) or bool(self._pool.unfinished())

    # ---- the way in

    async def run(
        self,
        call: Callable[[Stop], T],
        size: int,
        timeout: float | None,
        tally: Tally,
    ) -> T:
        """Run a call where it belongs; `tally` says what is counted, and how fast its model is."""
        begin = self.last_call = perf_counter()
        limits = self.limits
        if self.is_closing or self.shed or size > limits.max_text_bytes:
            raise self._refusal(size, tally.place)
        if timeout is None:
            timeout = limits.timeout
        stop = Stop(timeout)
        if size > limits.inline_bytes or size * tally.pace.seconds_per_byte > INLINE_SECONDS:
            lane = SHORT if size <= limits.short_bytes else LONG
            reason = self._pool.refusal(lane, size)
            if reason is not None:
                raise self._overloaded(tally.place, reason, lane)
            job = Pending(call, stop, size, self._loop.create_future(), begin)
            self._pool.submit(job, lane)
        elif self._inline or self._spent >= TURN_SECONDS:
            if len(self._inline) >= self._max_queue:
                raise self._overloaded(tally.place, "max_queue", None)
            job = Pending(call, stop, size, self._loop.create_future(), begin)
            self._inline[job] = tally.pace
        else:
            return self._now(call, stop, size, begin, tally)
        return await self._wait(job, timeout, tally)  # type: ignore[no-any-return]

    def _now(
        self, call: Callable[[Stop], T], stop: Stop, size: int, begin: float, tally: Tally
    ) -> T:
        if not self._turn_planned:
            self._turn_planned = True
            self._loop.call_soon(self._turn)
        try:
            result = call(stop)
        except BaseException as error:
            seconds = perf_counter() - begin
            self._spent += seconds
            self._failed(error, tally.place, size, (seconds, 0.0, seconds))
            raise
        seconds = perf_counter() - begin
        self._spent += seconds
        self.counters.answered(tally.place, size, tally.tokens_of(result), seconds)
        if size >= LEAST_MEASURED:
            tally.pace.inline(size, seconds)
        return result

    def _turn(self) -> None:
        """Run what waits for the next round of the event loop, as much as one round may take."""
        self._spent = 0.0
        while self._inline and self._spent < TURN_SECONDS:
            job, pace = self._inline.popitem(last=False)
            Pool.run(job)
            seconds = job.end - job.begin
            self._spent += seconds
            if job.error is None:
                pace.inline(job.size, seconds)
            self._ended(job)
            job.settle()
        if self._inline or self._spent:
            self._loop.call_soon(self._turn)
        else:
            self._turn_planned = False

    def renew_turn(self) -> None:
        """Forget what inline requests took in this round, unless some wait for the next one."""
        self._spent = 0.0

    # ---- waiting

    async def _wait(
        self, job: Pending, timeout: float | None, tally: Tally
    ) -> Any:  # whatever the call returns
        timer = None
        if timeout is not None:
            timer = self._loop.call_later(timeout, self._expire, job)
        try:
            result = await job.future
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                job.stop.cancel()
                self._leave(job)
            self._failed(error, tally.place, job.size, job.times(perf_counter()))
            raise
        finally:
            if timer is not None:
                timer.cancel()
        times = job.times(perf_counter())
        self.counters.ended(tally.place, "ok", job.size, times)
        self.counters.tokens(tally.place, tally.tokens_of(result))
        tally.pace.threaded(job.size, times[2])
        return result

    def _failed(
        self, error: BaseException, place: int, size: int, times: tuple[float, float, float]
    ) -> None:
        if isinstance(error, TextTooLong):  # its characters had to be counted
            self.counters.rejected(place, "max_text_bytes")
        else:
            self.counters.ended(place, _status_of(error), size, times)

    def _expire(self, job: Pending) -> None:
        """Answer at the deadline: a job that waits never runs; a running one looks at its Stop."""
        if job.future.done():
            return
        self._leave(job)
        try:
            job.stop.check()
        except DeadlineExceeded as error:
            job.future.set_exception(error)
        else:  # a clock that is a little ahead
            self._loop.call_later(_LEAST_RETRY, self._expire, job)

    def _leave(self, job: Pending) -> None:
        if job in self._inline:
            del self._inline[job]
        else:
            self._pool.discard(job)
        self._look_if_drained()

    def _ended(self, job: Pending) -> None:
        lane = (
            0 if job.size <= self.limits.inline_bytes else 1 + (job.size > self.limits.short_bytes)
        )
        self._job_seconds[lane] += _WEIGHT * (job.end - job.begin - self._job_seconds[lane])
        if self.is_closing:
            if isinstance(job.error, StopCancelled):
                job.error = ServiceClosed("the service was closed", hint="retry")
            self._look_if_drained()

    def _look_if_drained(self) -> None:
        drained = self._drained
        if drained is not None and not drained.done() and not self._is_busy():
            drained.set_result(None)

    # ---- refusals

    def _refusal(self, size: int, place: int) -> Exception:
        if self.is_closing:
            self.counters.rejected(place, "closing")
            return ServiceClosed("the service is closing", hint="retry elsewhere")
        limit = self.limits.max_text_bytes
        if size > limit:
            self.counters.rejected(place, "max_text_bytes")
            return too_long(size, limit)
        return self._overloaded(place, str(self.shed), LONG)

    def _overloaded(self, place: int, reason: str, lane: int | None) -> Overloaded:
        self.counters.rejected(place, reason)
        retry = self._retry_after(lane)
        return Overloaded(
            f"no room for another request ({reason})",
            reason=reason,
            retry_after=retry,
            hint=f"try again in {retry:.3g} s, or raise the limit",
        )

    def _retry_after(self, lane: int | None) -> float:
        """Estimate when half of what waits will have been done."""
        waiting = len(self._inline) if lane is None else self._pool.waiting(lane)
        threads = 1 if lane is None else self.limits.max_inflight
        seconds = self._job_seconds[0 if lane is None else 1 + lane]
        return max(_LEAST_RETRY, waiting * seconds / threads / 2)

    def narrow(self, *, is_narrow: bool) -> None:
        """Let little wait, or as much as the limits say: a short queue is answered soon."""
        limits = self.limits
        self._max_queue = limits.max_queue // _NARROW if is_narrow else limits.max_queue
        self._pool.bounds = self._pool.bounds._replace(queue=self._max_queue)

    def shed_for(self, reason: str, *, is_on: bool) -> None:
        """Refuse all requests for this reason from now on, or no longer."""
        (self._shed.add if is_on else self._shed.discard)(reason)
        self.shed = min(self._shed, default=None)

    # ---- what is there now

    @property
    def queued(self) -> int:
        """Requests that wait."""
        return len(self._inline) + self._pool.waiting(SHORT) + self._pool.waiting(LONG)

    @property
    def inflight(self) -> int:
        """Requests on threads."""
        return self._pool.running

    def threads(self) -> int:
        """How many threads a long call may use now: its own and those that are idle."""
        return 1 + max(0, min(self._pool.idle_threads(), self.limits.threads - 1))


def _status_of(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    gone = (asyncio.CancelledError, StopCancelled, ServiceClosed)
    return "cancelled" if isinstance(error, gone) else "error"
