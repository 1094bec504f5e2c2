"""`bench targets`: what a profile promises, measured, against its limits or your own."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._bench.latency import reports_of
from tokenmill._bench.rounds import CallGroup, case_of
from tokenmill._bench.texts import text_of
from tokenmill._bench.wording import rate_text, time_text
from tokenmill._checks import one_of, whole_number
from tokenmill._config.toml import read_toml
from tokenmill._errors import OptionError
from tokenmill._model.ready import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokenmill._bench.intervals import Interval
    from tokenmill._bench.measurement import BenchReport, CallTimes
    from tokenmill._bench.rounds import CallRequest

_BATCH, _TEXT_BYTES = 32, 500  # about 128 tokens each
_SHORT_BYTES = 100


@dataclass(frozen=True)
class Metric:
    """A figure that can have a limit: where it is in a report, and on which side it must be.

    `read` takes a sample of the row; seconds and MiB become the `unit`.
    """

    name: str
    about: str
    unit: Literal["tokens/s", "ms", "MB"]
    side: Literal["at least", "below"]
    row: Literal["batch", "single"]
    read: Callable[[CallTimes], float] | None = None  # None: tokens a second

    def measure(self, report: BenchReport) -> Interval:
        """Return the median over the processes."""
        row = next(row for row in report.rows if row.name == self.row)
        if self.read is None:
            return row.rate(row.tokens)
        return row.over(self.read).scaled(_FACTORS[self.unit])

    def write(self, value: float) -> str:
        """Write a value with its unit."""
        if self.unit == "ms":
            return time_text(value / _MILLI)
        return f"{value:,.0f} MB" if self.unit == "MB" else f"{rate_text(value)} tokens/s"


_MILLI = 1e3
_FACTORS = {"ms": _MILLI, "MB": 2**20 / 1e6}
_ALL = (
    Metric("tokens_per_second", "batches of 32 texts of 500 bytes", "tokens/s", "at least",
           "batch"),
    Metric("batch_ms", "such a batch, p95", "ms", "below", "batch", lambda s: s.p95),
    Metric("batch_p99_ms", "such a batch, p99", "ms", "below", "batch", lambda s: s.p99),
    Metric("single_ms", "one text of 100 bytes, p95", "ms", "below", "single", lambda s: s.p95),
    Metric("single_p99_ms", "one text of 100 bytes, p99", "ms", "below", "single", lambda s: s.p99),
    Metric("load_ms", "imports, loading, first word", "ms", "below", "single",
           lambda s: s.load_seconds),
    Metric("memory_mb", "peak of the process", "MB", "below", "batch",
           lambda s: max(s.loaded_mib, s.peak_mib)),
)  # fmt: skip
METRICS = {metric.name: metric for metric in _ALL}


@dataclass(frozen=True)
class Profile:
    """Limits, and how a process of this profile is set up: word tables, and threads at most."""

    name: str
    limits: Mapping[str, float]
    tables: str = "usual"
    threads: int | None = None


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("training", {"tokens_per_second": 100_000, "batch_ms": 10, "memory_mb": 8_000}),
        Profile("inference", {"tokens_per_second": 50_000, "batch_ms": 5, "memory_mb": 2_000}),
        Profile("realtime", {"tokens_per_second": 10_000, "batch_ms": 1, "single_ms": 1,
                             "memory_mb": 512}),
        Profile("edge", {"tokens_per_second": 1_000, "batch_ms": 100, "memory_mb": 128},
                tables="tiny", threads=1),
    )
}  # fmt: skip


@dataclass(frozen=True)
class TargetCheck:
    """One limit and what was measured."""

    profile: str
    metric: Metric
    limit: float
    measured: Interval

    @property
    def is_met(self) -> bool:
        """Whether the median is on the right side."""
        value = self.measured.value
        return value >= self.limit if self.metric.side == "at least" else value < self.limit

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "profile": self.profile,
            "metric": self.metric.name,
            "unit": self.metric.unit,
            "side": self.metric.side,
            "limit": self.limit,
            "measured": asdict(self.measured),
            "is_met": self.is_met,
        }

    @property
    def is_close(self) -> bool:
        """Whether the interval has the limit in it: another run may say otherwise."""
        return self.measured.low < self.limit < self.measured.high


def check_profiles(
    request: CallRequest, profiles: Sequence[Profile], report: Callable[[str], None]
) -> tuple[BenchReport, list[TargetCheck]]:
    """Measure all profiles; the rows of each carry its name."""
    share = replace(request, seconds=request.seconds / len(profiles))
    found: BenchReport | None = None
    checks: list[TargetCheck] = []
    for profile in profiles:
        one = measure_profile(share, profile, report)
        checks += _check(profile, one)
        for row in one.rows:
            row.name = f"{profile.name}: {row.name}"
        if found is None:
            found = one
        else:
            found.rows += one.rows
    if found is None:
        raise OptionError("no profile to measure", where="--profile")
    found.about["threads"] = request.threads
    return found, checks


def measure_profile(
    request: CallRequest, profile: Profile, report: Callable[[str], None]
) -> BenchReport:
    """Measure what the limits of a profile are about, in processes set up as it says."""
    threads = min(request.threads, profile.threads or request.threads)
    texts = [text_of("english", _TEXT_BYTES, seed) for seed in range(_BATCH)]
    short = [text_of("english", _SHORT_BYTES, seed) for seed in range(_BATCH)]
    group = CallGroup(
        profile.name,
        [
            case_of("single", short, "encode", threads, {}),
            case_of("batch", texts, "batch", threads, {}),
        ],
    )
    how = replace(request, tables=profile.tables, threads=threads)
    return reports_of("targets", how, [group], report)[0]


def _check(profile: Profile, report: BenchReport) -> list[TargetCheck]:
    """Compare every limit of a profile with what was measured."""
    return [
        TargetCheck(profile.name, METRICS[name], limit, METRICS[name].measure(report))
        for name, limit in profile.limits.items()
    ]


def read_limits(path: str) -> list[Profile]:
    """Read profiles from a TOML file: a table for each, with limits by name.

    A table with the name of a known profile changes its limits; `tables` and `threads` set up the
    process.
    """
    content = read_toml(path)
    if not content:
        raise OptionError("holds no limits", where=path, hint="e.g. a table [edge], memory_mb = 64")
    return [_profile(path, name, table) for name, table in content.items()]


def _profile(path: str, name: str, table: Any) -> Profile:
    known = PROFILES.get(name, Profile(name, {}))
    if not isinstance(table, dict):
        problem = f"expected a table of limits, got {name} = {table!r}"
        raise OptionError(
            problem, where=path, hint="e.g. [edge] and memory_mb = 64 in the next line"
        )
    given = dict(table)
    tables = one_of("tables", given.pop("tables", known.tables), tuple(TABLES))
    threads = given.pop("threads", known.threads)
    if threads is not None:
        threads = whole_number("threads", threads, least=1)
    limits = {key: _limit(path, f"{name}.{key}", value) for key, value in given.items()}
    return Profile(name, {**known.limits, **limits}, tables, threads)


def _limit(path: str, place: str, value: Any) -> float:
    name = place.rpartition(".")[2]
    if name not in METRICS:
        raise OptionError(
            f"unknown limit {place!r}", where=path, hint="one of " + ", ".join(METRICS)
        )
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise OptionError(f"{place}: expected a number above 0, got {value!r}", where=path)
    return float(value)
