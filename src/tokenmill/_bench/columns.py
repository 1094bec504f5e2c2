"""What the table of each kind of bench shows of a row, on a terminal and on a page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokenmill._bench.wording import (
    rate_text,
    ratio_text,
    spread_text,
    three_digits,
    time_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._bench.measurement import BenchReport, CallTimes, Measurement

_MEGA = 1e6


@dataclass(frozen=True)
class Column:
    """A title, its width on a terminal, and the cell of a row."""

    title: str
    width: int
    cell: Callable[[Measurement], str]
    about: str = ""


def _time(value: Callable[[CallTimes], float]) -> Callable[[Measurement], str]:
    return lambda row: time_text(row.over(value).value)


_NAME = 21
_TYPICAL = Column(
    "p50", 8, lambda row: time_text(row.seconds.value), "half of the calls are faster"
)
_SPREAD = Column("+/-", 6, lambda row: spread_text(row.seconds), "how far the interval goes")
_P90 = Column("p90", 8, _time(lambda s: s.p90))
_P95 = Column("p95", 8, _time(lambda s: s.p95))
_P99 = Column("p99", 8, _time(lambda s: s.p99))
_SLOWEST = Column("max", 8, lambda row: time_text(row.slowest), "the slowest call of all processes")
_TEXTS = Column("texts/s", 8, lambda row: rate_text(row.rate(row.texts).value))
_TOKENS = Column("tokens/s", 9, lambda row: rate_text(row.rate(row.tokens).value))
_SPEED = Column("MB/s", 7, lambda row: _speed(row) if row.size_bytes else "")
_CPU = Column("CPU", 8, _time(lambda s: s.cpu_seconds), "processor time of a call, all threads")
_PEAK = Column("peak MB", 8, lambda row: f"{row.over(_peak).value:,.0f}", "of the whole process")
_SCALING = Column("scaling", 9, lambda row: _label(row, "scaling"), "against one thread")
_RATIO = Column(
    "x ours", 19, lambda row: ratio_text(row.labels["ratio"]) if "ratio" in row.labels else "1",
    "how many times as long as tokenmill, with its interval",
)  # fmt: skip
_SHARE = Column("share", 8, lambda row: _label(row, "share"), "of the time of all threads")


def _speed(row: Measurement) -> str:
    return three_digits(row.rate(row.size_bytes / _MEGA).value)


def _peak(sample: CallTimes) -> float:
    return sample.peak_mib * 2**20 / _MEGA


def _label(row: Measurement, name: str) -> str:
    value = row.labels.get(name)
    return "" if value is None else value if isinstance(value, str) else f"{value:.2f}"


def _of_wholes(column: Column) -> Column:
    """Leave the cells of parts empty: a stage has no texts or processes of its own."""
    return replace(column, cell=lambda row: "" if row.is_part else column.cell(row))


def _name_column(title: str, width: int = _NAME) -> Column:
    return Column(title, width, lambda row: row.name)


_COLUMNS = {
    "latency": (
        _name_column("one call"), _TYPICAL, _SPREAD, _P95, _P99, _SLOWEST, _TEXTS, _TOKENS, _SPEED,
        _CPU, _PEAK,
    ),
    "throughput": (
        _name_column("all texts", 26), _TYPICAL, _SPREAD, _TEXTS, _TOKENS, _SPEED, _SCALING, _CPU,
        _PEAK,
    ),
    "peers": (
        _name_column("library", 18), _TYPICAL, _SPREAD, _TEXTS, _TOKENS, _SPEED, _RATIO, _CPU,
        _PEAK,
    ),
    "pack": (
        _name_column("stage", 13), replace(_TYPICAL, title="time", about=""), _SPREAD, _SHARE,
        _SPEED, *map(_of_wholes, (_TEXTS, _TOKENS, _CPU, _PEAK)),
    ),
    "gpu": (
        _name_column("one call", 26), _TYPICAL, _SPREAD, _P90, _P99, _SLOWEST, _TOKENS, _SPEED,
        _PEAK,
    ),
    "targets": (
        _name_column("one call"), _TYPICAL, _SPREAD, _P95, _P99, _TEXTS, _TOKENS, _CPU, _PEAK,
    ),
    "tokenize": (
        _name_column("tokenizer/batch", 22), _TYPICAL, _SPREAD, _TEXTS, _TOKENS, _SPEED, _PEAK,
    ),
}  # fmt: skip


def columns_of(report: BenchReport) -> tuple[Column, ...]:
    """Return the columns of a kind."""
    return _COLUMNS[report.kind]
