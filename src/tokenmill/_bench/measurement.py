"""The form of every measurement: rows of calls in fresh processes, and what they ran on.

All kinds of `tokenmill bench` fill this form; the table, the JSON file, the page and the comparison
read it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tokenmill._bench.intervals import Interval, median_interval
from tokenmill._bench.method import method_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMAT = 1


@dataclass(frozen=True)
class CallTimes:
    """What one fresh process measured of one row. Seconds are those of one call.

    `first`: the first call of the process; it is in no other value. `low`: the mean of a call in a
    lap over all texts, of which a tenth are faster; what the work costs when nothing disturbs it.
    `pace`: seconds of a fixed piece of work between the calls, which tells how fast the processor
    ran; 0 if it was not measured.
    `peak_mib`: the most memory of the process during the calls; `loaded_mib`: until it was loaded.
    """

    calls: int
    first: float
    low: float
    p50: float
    p90: float
    p95: float
    p99: float
    slowest: float
    cpu_seconds: float
    first_cpu_seconds: float = 0.0
    peak_mib: float = 0.0
    loaded_mib: float = 0.0
    load_seconds: float = 0.0
    pace: float = 0.0


@dataclass
class Measurement:
    """One row. `texts`, `size_bytes` and `tokens` are those of one call.

    `labels` say what a row is, for the columns of a table and the axes of a chart. A row that is
    part of another one, such as a stage of a job, is not counted again in a comparison.
    """

    name: str
    labels: dict[str, Any] = field(default_factory=dict)
    texts: float = 1
    size_bytes: float = 0
    tokens: float = 0
    ids: str = ""
    text_hash: str = ""
    version: str = ""
    note: str = ""
    is_part: bool = False
    samples: list[CallTimes] = field(default_factory=list)

    @property
    def seconds(self) -> Interval:
        """Of a call: the median of the processes' medians."""
        return self.over(lambda sample: sample.p50)

    @property
    def calls(self) -> int:
        """Of all processes."""
        return sum(sample.calls for sample in self.samples)

    @property
    def slowest(self) -> float:
        """Seconds of the slowest call."""
        return max(sample.slowest for sample in self.samples)

    def over(self, value: Callable[[CallTimes], float]) -> Interval:
        """Return the median of a value over the processes."""
        return median_interval([value(sample) for sample in self.samples])

    def rate(self, amount: float) -> Interval:
        """Return how much of something that a call takes goes through in a second."""
        return self.over(lambda sample: amount / sample.p50 if sample.p50 else 0.0)


@dataclass
class BenchReport:
    """Everything one command measured, and everything a reader needs to judge it."""

    kind: str
    about: dict[str, Any]
    rows: list[Measurement] = field(default_factory=list)
    not_measured: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """Fresh processes for each row."""
        return max((len(row.samples) for row in self.rows), default=0)

    @property
    def method(self) -> str:
        """How it was measured, in words."""
        return f"{method_of(self.kind)} {self.rounds} processes for each row."

    def row(self, name: str) -> Measurement | None:
        """Return the row of a name."""
        return next((row for row in self.rows if row.name == name), None)

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with the figures of the table and every sample."""
        rows = [{**asdict(row), "summary": _summary(row)} for row in self.rows]
        return {
            "format": FORMAT, "kind": self.kind, **self.about, "method": self.method,
            "rows": rows, "not_measured": self.not_measured, "notes": self.notes,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> BenchReport:
        """Read what `as_json` returned."""
        known = {"format", "kind", "rows", "not_measured", "notes", "method"}
        about = {name: content for name, content in value.items() if name not in known}
        rows = [_row(row) for row in value["rows"]]
        return cls(value["kind"], about, rows, value["not_measured"], value["notes"])


def _row(value: Mapping[str, Any]) -> Measurement:
    content = {name: item for name, item in value.items() if name not in ("summary", "samples")}
    return Measurement(**content, samples=[CallTimes(**sample) for sample in value["samples"]])


def _summary(row: Measurement) -> dict[str, Any]:
    figures = {name: row.over(attrgetter(name)) for name in _SUMMED}
    return {
        **{name: asdict(figure) for name, figure in figures.items()},
        "slowest": row.slowest,
        "texts_per_second": row.rate(row.texts).value,
        "tokens_per_second": row.rate(row.tokens).value,
        "megabytes_per_second": row.rate(row.size_bytes / 1e6).value,
    }


_SUMMED = ("first", "p50", "p90", "p95", "p99", "cpu_seconds", "peak_mib")
