"""Threads that a service owns: jobs of two lanes in, finished jobs out on the event loop.

::

    short lane  -> the express thread, which takes nothing else, or a general thread
    long lane   -> `workers` general threads, which take the oldest job of both lanes

A short job never waits for a long one to end, and a long one is overtaken only as long as short
ones are older. Threads start when there is work for them. Finished jobs are collected: one wake-up
of the event loop delivers all that have ended by then.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tokenmill._platform.processes import thread_nice

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._service.pending import Pending

SHORT, LONG = 0, 1


class Bounds(NamedTuple):
    """How many jobs run at once (one express job not counted), and what may wait in each lane.

    `nice`: the priority that threads give up, so that the event loop is served first.
    """

    workers: int
    queue: int
    queue_bytes: int
    nice: int = 0


class Worker:
    """A thread and the gate at which it waits for work."""

    def __init__(self, pool: Pool, express: bool) -> None:
        self.express = express
        self.is_leaving = False
        self.gate = threading.Lock()
        self.gate.acquire()
        name = "tokenmill-express" if express else "tokenmill-service"
        self.thread = threading.Thread(target=pool.work, args=(self,), name=name, daemon=True)


class Pool:
    """See the module. `submit`, `discard` and `stop` are called on the event loop's thread."""

    def __init__(
        self, bounds: Bounds, loop: asyncio.AbstractEventLoop, ended: Callable[[Pending], None]
    ) -> None:
        self.bounds = bounds
        self._loop = loop
        self._ended = ended
        self._lock = threading.Lock()  # guards all below it, for a microsecond at a time
        self._lanes: tuple[OrderedDict[Pending, None], ...] = (OrderedDict(), OrderedDict())
        self._lane_bytes = [0, 0]
        self._running: set[Pending] = set()
        self._busy = [0, 0]  # general threads, express thread
        self._idle: tuple[list[Worker], list[Worker]] = ([], [])  # the same
        self._workers: list[Worker] = []
        self._order = 0
        self._stopping = False
        self._done: deque[Pending] = deque()
        self._woken = False
        self._left: asyncio.Future[None] | None = None

    def waiting(self, lane: int) -> int:
        """Return how many jobs wait in a lane."""
        return len(self._lanes[lane])

    @property
    def running(self) -> int:
        """How many jobs run now."""
        return len(self._running)

    @property
    def threads(self) -> int:
        """How many threads have been started."""
        return len(self._workers)

    def idle_threads(self) -> int:
        """Return how many general threads could run and do not."""
        return self.bounds.workers - self._busy[0]

    def refusal(self, lane: int, size: int) -> str | None:
        """Return the limit that has no room for another job, or None."""
        bounds = self.bounds
        free = bounds.workers - self._busy[0] + (lane == SHORT and not self._busy[1])
        waiting = len(self._lanes[lane])
        if waiting >= bounds.queue + free:
            return "max_queue"
        held = self._lane_bytes[lane]
        if held and waiting >= free and held + size > bounds.queue_bytes:
            return "max_queue_bytes"
        return None

    def submit(self, job: Pending, lane: int) -> None:
        """Put a job into a lane and see that a thread comes for it."""
        with self._lock:
            self._order += 1
            job.order = self._order
            self._lanes[lane][job] = None
            self._lane_bytes[lane] += job.size
            worker = self._wake(lane)
        if worker is not None:
            worker.thread.start()

    def _wake(self, lane: int) -> Worker | None:
        """Open the gate of an idle thread, or return a new one to start."""
        general, express = self._idle
        if lane == SHORT and express:
            express.pop().gate.release()
            return None
        if general:
            general.pop().gate.release()
            return None
        n_express = sum(worker.express for worker in self._workers)
        if lane == SHORT and not n_express:
            is_express = True
        elif len(self._workers) - n_express < self.bounds.workers:
            is_express = False
        else:
            return None
        worker = Worker(self, is_express)
        self._workers.append(worker)
        return worker

    def discard(self, job: Pending) -> bool:
        """Take a job out of its lane; False if it has left it already."""
        with self._lock:
            for lane, jobs in enumerate(self._lanes):
                if job in jobs:
                    del jobs[job]
                    self._lane_bytes[lane] -= job.size
                    return True
        return False

    def work(self, worker: Worker) -> None:
        """Run jobs until the pool stops: the body of a thread."""
        _be_nice(self.bounds.nice)
        while True:
            with self._lock:
                job = self._next(worker.express)
                if job is None:
                    if self._stopping:
                        self._leave(worker)
                        return
                    self._idle[worker.express].append(worker)
            if job is None:
                worker.gate.acquire()
                continue
            self.run(job)
            with self._lock:
                self._running.discard(job)
                self._busy[worker.express] -= 1
            self._finish(job)
            del job  # or this frame would keep a result alive until the next job

    def _next(self, express: bool) -> Pending | None:
        """Take the oldest job that this kind of thread may run."""
        short, long = self._lanes
        lane = SHORT
        if not express and long and (not short or next(iter(long)).order < next(iter(short)).order):
            lane = LONG
        if not self._lanes[lane]:
            return None
        job, _ = self._lanes[lane].popitem(last=False)
        self._lane_bytes[lane] -= job.size
        self._busy[express] += 1
        self._running.add(job)
        return job

    @staticmethod
    def run(job: Pending) -> None:
        """Run a job, here: its result or its error is in it afterwards."""
        job.begin = time.perf_counter()
        try:
            job.stop.check()  # cancelled or expired while it waited
            job.result = job.call(job.stop)
        except BaseException as error:  # raised again where the caller waits
            job.error = error
        job.end = time.perf_counter()

    def _finish(self, job: Pending) -> None:
        self._done.append(job)
        if self._woken:  # the wake-up that is pending delivers this one too
            return
        self._woken = True
        try:
            self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._done.clear()

    def _deliver(self) -> None:
        self._woken = False  # before the look into the list: a job that ends now wakes us again
        while self._done:
            job = self._done.popleft()
            self._ended(job)
            job.settle()

    def unfinished(self) -> list[Pending]:
        """Return the jobs that wait or run."""
        with self._lock:
            return [*self._lanes[SHORT], *self._lanes[LONG], *self._running]

    async def stop(self, patience: float) -> None:
        """Let the threads end when no job is left, and wait so many seconds for them.

        A call that does not look at its Stop may take longer; its thread ends by itself.
        """
        self._left = self._loop.create_future()
        self.let_go()
        if self._workers:
            await asyncio.wait([self._left], timeout=patience)
        for worker in self._workers:
            if worker.is_leaving:  # it holds no lock and runs no job: this takes no time
                worker.thread.join()

    def let_go(self) -> None:
        """Let the threads end when no job is left."""
        with self._lock:
            self._stopping = True
            idle = [*self._idle[0], *self._idle[1]]
            self._idle[0].clear()
            self._idle[1].clear()
        for worker in idle:
            worker.gate.release()

    def _leave(self, worker: Worker) -> None:
        worker.is_leaving = True
        if all(other.is_leaving for other in self._workers):
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._all_left)

    def _all_left(self) -> None:
        if self._left is not None and not self._left.done():
            self._left.set_result(None)


def _be_nice(nice: int) -> None:
    """Let other threads go first; those that this one starts inherit it. Only Linux can.

    A thread that loses its CPU while it holds the GIL holds up the event loop for as long. With
    1 MB texts on two cores the 99th percentile of the loop's lag was 1.3 to 4.1 ms with nice 0,
    1.0 to 1.9 with 1, 0.5 to 1.5 with 5, at the same speed. With two busy processes of others
    the threads lost a tenth of their speed with 1, and three quarters with 5 (AMD EPYC,
    2026-11-18).
    """
    if nice:
        with suppress(OSError):
            thread_nice(nice)
