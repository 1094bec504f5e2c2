"""Calls -> times: warm-up, single calls on the clock, processor time, peak memory."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._bench.measurement import CallTimes
from tokenmill._platform.memory import peak_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# For tests of `--compare`: every timed call takes this share longer. Only the clock reads it.
SLOWDOWN = "TOKENMILL_BENCH_SLOWDOWN"

_STATUS = Path("/proc/self/status")
_FORGET_PEAK = Path("/proc/self/clear_refs")
_WARM_UP = 0.25  # of the time to measure
_LEAST_CALLS = 5
_MOST_CALLS = 50_000
_PACE_BYTES = bytes(1 << 16)
_PACE_TRIES = 5
_SHORTEST_WAIT = 2e-6


class CallClock:
    """Times calls of one row for about `seconds`."""

    def __init__(self, seconds: float, load_seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._load_seconds = load_seconds
        self._loaded_mib = peak_mib()
        self._slowdown = _slowdown()

    def measure(
        self,
        call: Callable[[Any], Any],
        arguments: Sequence[Any],
        before_lap: Callable[[], object] | None = None,
    ) -> CallTimes:
        """Time one argument after the other, lap by lap; `before_lap` is not timed."""
        forget_peak()
        laps = _laps(arguments, before_lap)
        begin = time.process_time()
        first = self._timed(call, next(laps))
        first_cpu = time.process_time() - begin
        self._run(call, laps, first, self._seconds * _WARM_UP, 1)
        pace = _pace()
        begin = time.process_time()
        times = self._run(call, laps, first, self._seconds, _LEAST_CALLS)
        cpu = (time.process_time() - begin) / len(times)
        pace = min(pace, _pace())
        return times_of(
            times, first, cpu, lap=len(arguments), first_cpu_seconds=first_cpu, peak_mib=peak_mib(),
            loaded_mib=self._loaded_mib, load_seconds=self._load_seconds, pace=pace,
        )  # fmt: skip

    def _run(
        self,
        call: Callable[[Any], Any],
        laps: Iterator[Any],
        first: float,
        seconds: float,
        least: int,
    ) -> list[float]:
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < _MOST_CALLS:
            times.append(self._timed(call, next(laps)))
            if time.perf_counter() > end and (len(times) >= least or first > seconds):
                break
        return times

    def _timed(self, call: Callable[[Any], Any], argument: Any) -> float:
        now = time.perf_counter
        begin = now()
        result = call(argument)
        end = now()
        if self._slowdown:
            end = _wait_until(end + (end - begin) * self._slowdown)
        del result  # after the clock
        return end - begin


def _wait_until(late: float) -> float:
    """Keep the processor busy; a moment that is shorter than the clock's own work is just added."""
    end = time.perf_counter()
    if late - end < _SHORTEST_WAIT:
        return late
    while end < late:
        end = time.perf_counter()
    return end


def slowed(begin: float) -> float:
    """Return the seconds since `begin`; under a slowdown for tests, wait that much longer."""
    seconds = time.perf_counter() - begin
    time.sleep(seconds * _slowdown())
    return time.perf_counter() - begin


def _slowdown() -> float:
    return float(os.environ.get(SLOWDOWN, "0"))


def times_of(
    times: Sequence[float], first: float, cpu_seconds: float, *, lap: int = 1, **rest: float
) -> CallTimes:
    """Return the percentiles of single calls; `low` is that of whole laps of so many calls."""
    ordered = sorted(times)
    shares = (0.5, 0.9, 0.95, 0.99)
    p50, p90, p95, p99 = (_percentile(ordered, share) for share in shares)
    low = _percentile(sorted(_means(times, lap)), 0.1)
    return CallTimes(
        len(times), first, low, p50, p90, p95, p99, ordered[-1], cpu_seconds, **rest
    )  # fmt: skip


def _means(times: Sequence[float], lap: int) -> list[float]:
    """Return the mean time of a call in each whole lap; of all calls if no lap is whole."""
    if len(times) < lap:
        return [sum(times) / len(times)]
    begins = range(0, len(times) - lap + 1, lap)
    return [sum(times[begin : begin + lap]) / lap for begin in begins]


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that `share` of all values do not exceed."""
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def _laps(arguments: Sequence[Any], before_lap: Callable[[], object] | None) -> Iterator[Any]:
    while True:
        if before_lap is not None:
            before_lap()
        yield from arguments


def _pace() -> float:
    best = float("inf")
    for _ in range(_PACE_TRIES):
        begin = time.perf_counter()
        hashlib.sha256(_PACE_BYTES).digest()
        best = min(best, time.perf_counter() - begin)
    return best


def peak_mib() -> float:
    """Return the peak resident memory; `ru_maxrss` may be the parent's, seen at the fork."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return peak_bytes() / (1 << 20)


def forget_peak() -> None:
    """Reset the count if allowed: what was done before is not this row's memory."""
    with suppress(OSError):
        _FORGET_PEAK.write_text("5")
