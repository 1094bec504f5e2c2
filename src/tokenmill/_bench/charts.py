"""A report -> the charts of its kind, each drawn wide and narrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._bench.scenarios import size_name
from tokenmill._bench.svg import Axis, ChartLine, MarkedRange, line_chart, range_chart
from tokenmill._bench.wording import (
    change_text,
    short_number,
    short_time,
    three_digits,
    time_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokenmill._bench.compare import Comparison, RowChange
    from tokenmill._bench.measurement import BenchReport, Measurement
    from tokenmill._bench.targets import TargetCheck

_MEGA = 1e6
_TIME = Axis("time of one call", short_time)
_SIZE = Axis("bytes of a text", lambda size: size_name(int(size)))
_SPEED = Axis("MB/s", short_number)
_COLOUR = {"worse": 3, "better": 2, "not distinguishable": 5}


@dataclass(frozen=True)
class Chart:
    """A picture with its heading; `draw` takes a width. `keys` name the colours."""

    heading: str
    draw: Callable[[int], str]
    keys: Sequence[str] = ()
    about: str = ""
    is_half: bool = False  # two of them are side by side where there is room


def charts_of(report: BenchReport) -> list[Chart]:
    """Return the charts of a report, none without rows."""
    make = _KINDS.get(report.kind)
    return list(make(report)) if make is not None and report.rows else []


def comparison_chart(found: Comparison) -> Chart:
    """Return how much longer each row takes, with intervals around no change."""
    axis = Axis("time now, as a share of the old one", lambda x: f"{x:.4g}", is_log=False, mark=1.0)
    ranges = [_change(change) for change in (found.overall, *found.changes)]
    return Chart(
        "Change since the old result",
        lambda width: range_chart(ranges, axis, width),
        about="Left of the line is faster, right of it slower. The bar is the interval.",
    )


def targets_chart(checks: Sequence[TargetCheck]) -> Chart:
    """Return how far each figure is on the right side of its limit."""
    axis = Axis("times better than the limit", short_number, mark=1.0)
    ranges = [_room(check) for check in checks]
    return Chart(
        "Room to the limits",
        lambda width: range_chart(ranges, axis, width),
        about="Right of the line is better than the limit.",
    )


def _latency(report: BenchReport) -> Iterator[Chart]:
    sized = _by([row for row in report.rows if row.labels["size"]], "scenario")
    long = {name: rows for name, rows in sized.items() if len(rows) > 1}
    if long:
        times = _Plane("size", _SIZE, _TIME, lambda row: row.seconds.value)
        yield _lines("Time by size", long, times)
        yield _lines("Speed by size", long, _Plane("size", _SIZE, _SPEED, _megabytes))
    yield _percentiles(report)


def _percentiles(report: BenchReport) -> Chart:
    ranges = [
        MarkedRange(
            row.name, row.seconds.value, row.seconds.low, row.seconds.high,
            time_text(row.seconds.value),
            [row.over(lambda s: s.p95).value, row.over(lambda s: s.p99).value],
        )
        for row in report.rows
    ]  # fmt: skip
    return Chart(
        "p50, p95 and p99 of one call",
        lambda width: range_chart(ranges, _TIME, width),
        about="The full mark is p50 with its interval, the rings are p95 and p99.",
    )


def _throughput(report: BenchReport) -> Iterator[Chart]:
    threads = Axis("threads", lambda x: f"{x:g}")
    speed = Axis("MB/s", short_number, is_log=False, least=0.0)
    for name in ("cold", "warm"):
        lines = _by([row for row in report.rows if row.name.endswith(name)], "text")
        if any(len(rows) > 1 for rows in lines.values()):
            plane = _Plane("threads", threads, speed, _megabytes)
            yield _lines(f"Speed by threads, {name}", lines, plane)
    yield _speeds(report, "Speed, first pass and later ones", "pass")


def _speeds(report: BenchReport, heading: str, label: str) -> Chart:
    kinds = list(dict.fromkeys(row.labels[label] for row in report.rows))
    ranges = []
    for row in report.rows:
        speed = row.rate(row.size_bytes / _MEGA)
        text = f"{three_digits(speed.value)} MB/s"
        colour = kinds.index(row.labels[label])
        ranges.append(
            MarkedRange(row.name, speed.value, speed.low, speed.high, text, colour=colour)
        )
    return Chart(heading, lambda width: range_chart(ranges, _SPEED, width), kinds)


def _pack(report: BenchReport) -> Iterator[Chart]:
    stages = [row for row in report.rows if row.is_part]
    if stages:
        axis = Axis("seconds of all threads together", short_time, is_log=False, least=0.0)
        ranges = [
            MarkedRange(row.name, row.seconds.value, row.seconds.low, row.seconds.high,
                  time_text(row.seconds.value), others=[0.0])
            for row in stages
        ]  # fmt: skip
        yield Chart("Where the time goes", lambda width: range_chart(ranges, axis, width))


def _gpu(report: BenchReport) -> Iterator[Chart]:
    requests = [row for row in report.rows if row.labels["way"] == "one request"]
    if len(requests) > 1:
        lines = [
            ChartLine(name, [(row.labels["size"], row.over(read).value) for row in requests])
            for name, read in (
                ("p50", lambda s: s.p50), ("p90", lambda s: s.p90), ("p99", lambda s: s.p99),
            )
        ]  # fmt: skip
        yield Chart(
            "One request by size",
            lambda width: line_chart(lines, _SIZE, _TIME, width),
            [line.name for line in lines],
            _TIME.title,
            is_half=True,
        )
        speeds = _Plane("size", _SIZE, _SPEED, _megabytes)
        yield _lines("Speed of one request", {"one request": requests}, speeds)
    yield _speeds(report, "Speed", "way")


@dataclass(frozen=True)
class _Plane:
    """What a chart of lines shows: a label of the rows across, a value of them upwards."""

    label: str
    across: Axis
    up: Axis
    value: Callable[[Measurement], float]


def _lines(heading: str, groups: dict[str, list[Measurement]], plane: _Plane) -> Chart:
    lines = [
        ChartLine(name, [(row.labels[plane.label], plane.value(row)) for row in rows])
        for name, rows in groups.items()
    ]

    def draw(width: int) -> str:
        return line_chart(lines, plane.across, plane.up, width)

    return Chart(heading, draw, list(groups), plane.up.title, is_half=True)


def _by(rows: Sequence[Measurement], label: str) -> dict[str, list[Measurement]]:
    found: dict[str, list[Measurement]] = {}
    for row in rows:
        found.setdefault(row.labels[label], []).append(row)
    return found


def _megabytes(row: Measurement) -> float:
    return row.rate(row.size_bytes / _MEGA).value


def _change(change: RowChange) -> MarkedRange:
    ratio = change.ratio
    colour = _COLOUR[change.verdict]
    text = change_text(ratio)
    return MarkedRange(change.name, ratio.value, ratio.low, ratio.high, text, colour=colour)


def _room(check: TargetCheck) -> MarkedRange:
    measured, limit = check.measured, check.limit
    at_least = check.metric.side == "at least"
    values = [x / limit if at_least else limit / x for x in
              (measured.value, measured.low, measured.high)]  # fmt: skip
    text = check.metric.write(measured.value)
    name = f"{check.profile}: {check.metric.name}"
    return MarkedRange(
        name, values[0], min(values), max(values), text, colour=2 if check.is_met else 3
    )


_KINDS: dict[str, Callable[[BenchReport], Iterator[Chart]]] = {
    "latency": _latency,
    "throughput": _throughput,
    "peers": lambda report: iter([_speeds(report, "Speed, first pass and later ones", "pass")]),
    "tokenize": lambda report: iter([_speeds(report, "Speed, first pass and later ones", "pass")]),
    "pack": _pack,
    "gpu": _gpu,
}
