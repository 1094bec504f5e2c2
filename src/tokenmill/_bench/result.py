"""What was measured: rows with their times, and what could not be measured and why."""

from __future__ import annotations

import platform
import statistics
from dataclasses import dataclass, field
from pathlib import Path
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
    load_seconds: list[float] = field(default_factory=list)
    cold_seconds: list[float] = field(default_factory=list)
    warm_seconds: list[float] = field(default_factory=list)
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
        for name in ("load_seconds", "cold_seconds", "warm_seconds", "loaded_mib", "peak_mib"):
            getattr(self, name).append(report[name])


@dataclass(frozen=True)
class Result:
    """All rows, in the order of the table; `not_measured` explains why a library is missing."""

    rows: list[Row]
    not_measured: dict[str, str]
    threads: int
    load_average: float

    def baseline(self, name: str | None) -> Row:
        """Return the row of a name; the slowest where it was not measured, or none was named."""
        named = [row for row in self.rows if row.name == name]
        return named[0] if named else max(self.rows, key=lambda row: row.cold)


def describe_machine() -> dict[str, str]:
    """Return what a reader of the times needs to know."""
    return {
        "cpu": _cpu() or platform.processor() or platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not on every system
        return ""
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "")
