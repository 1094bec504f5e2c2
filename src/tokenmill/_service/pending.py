"""One request that does not run at once: what it does, for whom, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from tokenmill._core import Stop


class Pending:
    """A call that waits for its turn; `future` belongs to the event loop, the rest to its worker.

    Times are those of `time.perf_counter`; `begin` and `end` are 0 if it never ran.
    """

    __slots__ = ("begin", "call", "end", "error", "future", "order", "queued", "result", "size",
                 "stop")  # fmt: skip

    def __init__(
        self,
        call: Callable[[Stop], Any],
        stop: Stop,
        size: int,
        future: asyncio.Future[Any],
        queued: float,
    ) -> None:
        self.call = call
        self.stop = stop
        self.size = size
        self.future = future
        self.queued = queued
        self.order = 0
        self.begin = self.end = 0.0
        self.result: Any = None
        self.error: BaseException | None = None

    def times(self, now: float) -> tuple[float, float, float]:
        """Return seconds of the request, in the queue, and of work."""
        work = self.end - self.begin if self.end else 0.0
        return now - self.queued, (self.begin or now) - self.queued, work

    def settle(self) -> None:
        """Give the result to whoever waits, if anyone still does; on the event loop."""
        future, error, result = self.future, self.error, self.result
        self.error = self.result = None  # a traceback holds frames that hold this call
        if future.done():
            return
        if error is None:
            future.set_result(result)
            return
        if isinstance(error, StopIteration):  # a future cannot hold it
            wrapped = RuntimeError("the call raised StopIteration")
            wrapped.__cause__ = error
            error = wrapped
        future.set_exception(error)
