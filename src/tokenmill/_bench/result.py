"""What was measured: rows with their times, and what could not be measured and why."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Row:
    """One tokenizer with one size of batches; a value of each list comes from a fresh process."""

    library: str
    batch_size: int
    documents: int
    version: str = ""
    note: str = ""
    tokens: int = 0
    ids: str = ""
    load_seconds: list[float] = field(default_factory=list)
    cold_seconds: list[float] = field(default_factory=list)
    warm_seconds: list[float] = field(default_factory=list)
    cold_cpu_seconds: list[float] = field(default_factory=list)
    warm_cpu_seconds: list[float] = field(default_factory=list)
    loaded_mib: list[float] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return `fast/32`."""
        return f"{self.library}/{self.batch_size}"

    @property
    def cold(self) -> float:
        """Seconds of the first pass, the median."""
        return statistics.median(self.cold_seconds)

    @property
    def warm(self) -> float:
        """Seconds of the second pass, the median."""
        return statistics.median(self.warm_seconds)

    @property
    def documents_per_second(self) -> float:
        """Of the first pass."""
        return self.documents / self.cold

    @property
    def tokens_per_second(self) -> float:
        """Of the first pass."""
        return self.tokens / self.cold

    def add(self, report: Mapping[str, Any]) -> None:
        """Take what one process measured."""
        self.version, self.note = report["version"], report["note"]
        for name in _LISTS:
            getattr(self, name).append(report[name])


@dataclass(frozen=True)
class Result:
    """All rows, in the order of the table; `not_measured` explains why a library is missing."""

    rows: list[Row]
    not_measured: dict[str, str]
    threads: int
    load_average: float | None

    def baseline(self, name: str | None) -> Row:
        """Return the row of a name; the slowest where it was not measured, or none was named."""
        named = [row for row in self.rows if row.name == name]
        return named[0] if named else max(self.rows, key=lambda row: row.cold)


_LISTS = (
    "load_seconds", "cold_seconds", "warm_seconds", "cold_cpu_seconds", "warm_cpu_seconds",
    "loaded_mib", "peak_mib",
)  # fmt: skip
