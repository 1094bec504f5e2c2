"""`bench throughput`: many texts at once, by threads, first pass and later ones, and scaling."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokenmill._bench.latency import reports_of
from tokenmill._bench.rounds import CallGroup, case_of
from tokenmill._bench.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokenmill._bench.measurement import BenchReport, CallTimes, Measurement
    from tokenmill._bench.rounds import CallRequest

_DOCUMENT_BYTES = 3_000


def made_texts(kinds: Sequence[str], size: int) -> dict[str, list[str]]:
    """Return documents of about 3 KB of each kind, `size` bytes together."""
    return {
        kind: [text_of(kind, _DOCUMENT_BYTES, seed) for seed in range(size // _DOCUMENT_BYTES + 1)]
        for kind in kinds
    }


def thread_steps(most: int) -> tuple[int, ...]:
    """Return 1, 2, 4 ... and the most: 6 -> (1, 2, 4, 6)."""
    steps = [1]
    while steps[-1] * 2 <= most:
        steps.append(steps[-1] * 2)
    return tuple(dict.fromkeys([*steps, most]))


def measure_throughput(
    request: CallRequest,
    texts: Mapping[str, list[str]],
    steps: Sequence[int],
    report: Callable[[str], None],
) -> list[BenchReport]:
    """Measure all texts with all numbers of threads."""
    groups = [
        CallGroup(
            f"{kind}, {_threads(threads)}",
            [case_of(f"{kind}, {_threads(threads)}", documents, "batch", threads,
                     {"text": kind, "threads": threads})],
        )
        for kind, documents in texts.items()
        for threads in steps
    ]  # fmt: skip
    reports = reports_of("throughput", request, groups, report)
    for found in reports:
        found.rows = [row for warm in found.rows for row in split_passes(warm)]
        _add_scaling(found.rows)
    return reports


def split_passes(warm: Measurement) -> list[Measurement]:
    """Return the first pass and the later ones as two rows."""
    labels: dict[str, Any] = warm.labels
    cold = replace(
        warm,
        name=f"{warm.name}, cold",
        labels={**labels, "pass": "cold"},
        samples=[_first_only(sample) for sample in warm.samples],
    )
    return [cold, replace(warm, name=f"{warm.name}, warm", labels={**labels, "pass": "warm"})]


def _first_only(sample: CallTimes) -> CallTimes:
    """Return the first call as if it were the only one."""
    first = sample.first
    return replace(
        sample, calls=1, low=first, p50=first, p90=first, p95=first, p99=first, slowest=first,
        cpu_seconds=sample.first_cpu_seconds,
    )  # fmt: skip


def _add_scaling(rows: Sequence[Measurement]) -> None:
    """Say how many times as fast a row is as the same with one thread."""
    single = {
        (row.labels["text"], row.labels["pass"]): row.seconds.value
        for row in rows
        if row.labels["threads"] == 1
    }
    for row in rows:
        base = single.get((row.labels["text"], row.labels["pass"]))
        if base is not None:
            row.labels["scaling"] = round(base / row.seconds.value, 3)


def _threads(count: int) -> str:
    return f"{count} thread" + ("s" if count > 1 else "")
