"""Reports made by hand: rows with times that a test chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._bench.clock import times_of
from tokenmill._bench.measurement import BenchReport, Measurement

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

ABOUT: dict[str, Any] = {
    "date": "2026-11-18T04:00:00+00:00",
    "machine": {
        "cpu": {"model": "A & B <fast>", "threads": 2, "logical": 4, "target": "avx2"},
        "memory": {"total": 8_000_000_000},
    },
    "versions": {"tokenmill": "0.1.0", "python": "3.11.7"},
    "load_average": 0.1,
    "threads": 2,
    "tokenizer": {"name": "small", "vocab_size": 300},
}


def row_of(name: str, seconds: Sequence[float], **options: Any) -> Measurement:
    samples = [
        times_of([value * 0.99, value, value * 1.2], value * 2, value, peak_mib=50.0)
        for value in seconds
    ]
    values = {"texts": 1, "size_bytes": 1000, "tokens": 250, "ids": "abc", "text_hash": "t"}
    return Measurement(name, samples=samples, **{**values, **options})


def report_of(kind: str, rows: list[Measurement]) -> BenchReport:
    return BenchReport(kind, {**ABOUT}, rows)


def noisy_rows(chance: random.Random, *, count: int, rounds: int, factor: float) -> BenchReport:
    """Return rows as a busy machine gives them: layouts differ by 1 %, one process in ten is late.

    A processor that runs 2 % slower in a run as a whole shows in the pace as well.
    """
    drift = chance.gauss(1, 0.02)
    rows = []
    for number in range(count):
        row = row_of(f"row {number}", [])
        for _ in range(rounds):
            late = chance.uniform(1.1, 1.6) if chance.random() < 0.1 else 1.0
            seconds = (number + 1) * 1e-4 * factor * drift * late * chance.gauss(1, 0.01)
            row.samples.append(
                times_of([seconds], seconds, seconds, pace=4e-5 * drift * chance.gauss(1, 0.002))
            )
        rows.append(row)
    return report_of("latency", rows)
