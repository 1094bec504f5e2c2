"""The clock: every call once, percentiles that exist, laps, and a slowdown for tests."""

from __future__ import annotations

import time

import pytest

from tokenmill._bench.clock import SLOWDOWN, CallClock, times_of


def test_percentiles_are_times_that_were_measured() -> None:
    found = times_of([float(n) for n in range(1, 101)], 7.0, 0.5)
    assert (found.low, found.p50, found.p90, found.p95, found.p99) == (10, 50, 90, 95, 99)
    assert (found.calls, found.first, found.slowest) == (100, 7.0, 100)


def test_low_is_that_of_whole_laps() -> None:
    """Short texts among long ones must not pass for the speed of all."""
    found = times_of([1.0, 9.0] * 10 + [5.0, 25.0] * 30, 0.0, 0.0, lap=2)
    assert (found.low, found.p50) == (5.0, 5.0)
    assert times_of([1.0, 3.0], 0.0, 0.0, lap=5).low == 2.0


def test_few_calls_have_the_slowest_as_their_p99() -> None:
    assert times_of([3.0, 1.0, 2.0], 0.0, 0.0).p99 == 3.0
    assert times_of([3.0], 0.0, 0.0).low == 3.0


def test_arguments_come_in_turn_and_each_lap_is_announced() -> None:
    seen: list[str] = []
    CallClock(0.002).measure(seen.append, ["a", "b"], lambda: seen.append("lap"))
    assert seen[:6] == ["lap", "a", "b", "lap", "a", "b"]
    assert len(seen) > 9


def test_processor_time_is_that_of_a_call() -> None:
    def work(seconds: float) -> None:
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    found = CallClock(0.01).measure(work, [0.002])
    assert 0.0018 < found.cpu_seconds < 0.01
    assert found.pace > 0


@pytest.mark.parametrize("seconds", [1e-7, 3e-3])
def test_a_slowdown_makes_calls_longer(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Whatever the machine does, a call that should take twice as long does so at least."""
    monkeypatch.setenv(SLOWDOWN, "1.0")

    def wait(length: float) -> None:
        end = time.perf_counter() + length
        while time.perf_counter() < end:
            pass

    assert CallClock(0.01).measure(wait, [seconds]).low >= 2 * seconds


def test_only_the_clock_reads_the_slowdown() -> None:
    from pathlib import Path

    import tokenmill

    package = Path(tokenmill.__file__).parent
    readers = [path.name for path in package.rglob("*.py") if SLOWDOWN in path.read_text("utf-8")]
    assert readers == ["clock.py"]
