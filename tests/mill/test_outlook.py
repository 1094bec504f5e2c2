"""Rates of a run, and the time that is left."""

from __future__ import annotations

import time

import pytest

from tokenmill._mill.meter import Meter
from tokenmill._mill.progress import as_json
from tokenmill._mill.watch.beat import Pulse
from tokenmill._mill.watch.outlook import Goals, seconds_left, share_done
from tokenmill._mill.watch.recent import RecentRates, Speeds


def moved(meter: Meter, seconds: float, **counts: int) -> Meter:
    """Let a run have taken so long."""
    meter.began = time.perf_counter() - seconds
    meter.add(**counts)
    return meter


def test_rates_are_those_of_the_last_half_minute_and_of_one_phase() -> None:
    meter, rates = Meter(), RecentRates()
    for second in range(1, 101):
        grown = 10 if second <= 50 else 1000
        rates.note(moved(meter, second, input_bytes=grown, resumed_bytes=0), {})
    assert rates.of("input_bytes") == pytest.approx(1000, rel=0.05)
    assert rates.seconds == pytest.approx(30, abs=2)
    meter.phase = "pack"
    rates.note(moved(meter, 101, packed_tokens=500), {})
    rates.note(moved(meter, 102, packed_tokens=500), {})
    assert rates.of("packed_tokens") == pytest.approx(500, rel=0.05)
    assert rates.of("input_bytes") == 0


def test_what_an_earlier_run_did_is_not_speed() -> None:
    meter, rates = Meter(input_bytes=900, resumed_bytes=900), RecentRates()
    rates.note(moved(meter, 10, input_bytes=100), {})
    assert rates.of("input_bytes") == pytest.approx(10, rel=0.01)


def test_silence_of_the_counters_is_measured() -> None:
    meter, rates = Meter(), RecentRates()
    rates.note(moved(meter, 5, input_bytes=1), {})
    rates.note(moved(meter, 25), {})
    assert rates.still_seconds == pytest.approx(20, abs=0.5)


def test_the_time_left_is_that_of_both_phases() -> None:
    meter = Meter(total_bytes=1000_000_000)
    speeds = Speeds()
    speeds.note(moved(meter, 10, input_bytes=100_000_000, tokens=400_000_000), {})
    alone = 90.0  # 900 MB at 10 MB/s
    left = seconds_left(meter, speeds, Goals(), workers=1)
    assert left is not None
    assert left > alone + 10  # 4 G tokens are still to be packed
    meter.packed_tokens = 390_000_000  # shards are made on the way: little is left at the end
    nearly = seconds_left(meter, speeds, Goals(), workers=1)
    assert nearly == pytest.approx(alone, abs=1)
    meter.phase, meter.total_tokens = "pack", 4_000_000_000
    speeds = Speeds()
    speeds.note(moved(meter, 20), {})
    speeds.note(moved(meter, 30, packed_tokens=10_000_000), {})
    packing = seconds_left(meter, speeds, Goals(), workers=1)
    assert packing is not None
    assert 0 < packing < 10_000


def test_limits_end_the_reading_early() -> None:
    meter = Meter(total_bytes=1000, input_bytes=10, documents=50, tokens=500)
    assert share_done(meter, Goals()) == 0.01
    assert share_done(meter, Goals(documents=100)) == 0.5
    assert share_done(meter, Goals(tokens=1000)) == 0.5
    assert share_done(Meter(tokens=7), Goals()) is None  # from stdin
    speeds = Speeds()
    speeds.note(moved(meter, 10), {})
    assert seconds_left(meter, speeds, Goals(documents=100)) == pytest.approx(10, rel=0.05)
    assert seconds_left(Meter(), Speeds(), Goals()) is None


def test_a_slow_half_minute_does_not_decide_the_hours_to_come() -> None:
    meter, speeds = Meter(total_bytes=1000_000), Speeds()
    for second in range(1, 201):  # 1000 bytes a second, and at the end a tenth of that
        speeds.note(moved(meter, second, input_bytes=1000 if second <= 170 else 100), {})
    left = seconds_left(meter, speeds, Goals())
    assert left == pytest.approx(827_000 / 865, rel=0.1)  # by the last half minute: 8270 s
    meter.total_bytes = meter.input_bytes + 1000  # near the end it is the last half minute
    near = seconds_left(meter, speeds, Goals())
    assert near is not None
    assert 4 < near <= 10


def test_the_progress_of_the_run_shows_the_same_time_left() -> None:
    meter = Meter(total_bytes=1000_000_000)
    pulse = Pulse(meter)
    for phase, seconds in (("tokenize", 10), ("pack", 20)):
        meter.phase, meter.total_tokens = phase, 4_000_000_000
        moved(meter, seconds, input_bytes=100_000_000, tokens=400_000_000)
        beat = pulse.beat()
        assert beat["eta_seconds"] > 0
        assert as_json(meter)["eta_seconds"] == beat["eta_seconds"]
