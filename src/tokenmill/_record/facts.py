"""`RunFacts`: a run of the mill, or all calls of a tokenizer, with all that explains it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tokenmill._stats import RunStats

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ReadFile:
    """A file that was read; `compression` is None, or gz, zst and so on."""

    path: str
    bytes: int
    format: str
    compression: str | None = None


@dataclass(frozen=True)
class RunFacts:
    """What ran, with what, and what it counted. `calls` have no files, workers and output."""

    kind: str  # "pack" or "calls"
    tokenizer: str
    path: str  # of its texts: "native", "dfa" or "reference"
    stats: RunStats
    reasons: tuple[str, ...] = ()  # why it is the reference path
    target: str = ""  # SIMD instructions; "" on the reference path
    tables: str = "usual"
    documents: int = 0
    calls: int = 0  # that encoded these documents, of kind "calls"
    process_seconds: float = 0.0  # of calls: since the tokenizer was loaded
    cpu_seconds: float = 0.0  # that the process got for the run; 0 if that is not known
    files: tuple[ReadFile, ...] = ()
    streams: int = 0  # parts of files that workers can read at the same time
    workers_wanted: int = 0  # before the memory limit
    memory_limit: str | None = None
    block_bytes: int = 0
    device: str = "cpu"
    device_asked: str = "cpu"
    device_note: str = ""
    output: str | None = None

    @property
    def thread_seconds(self) -> float:
        """All seconds of all threads: what the stages add up to."""
        return sum(total.seconds for total in self.stats.stages.values())

    def share(self, *stages: str) -> float:
        """Return which part of all threads' time some stages took."""
        return sum(map(self.seconds, stages)) / (self.thread_seconds or 1.0)

    def work_share(self, *stages: str) -> float:
        """Return which part of the time some stages took in which threads did not wait."""
        waiting = self.share("wait_input", "wait_output")
        return self.share(*stages) / max(1 - waiting, 1e-9)

    def seconds(self, stage: str) -> float:
        """Return the seconds of a stage, of all threads together."""
        total = self.stats.stages.get(stage)
        return 0.0 if total is None else total.seconds

    def bytes(self, stage: str) -> int:
        """Return the bytes that went into a stage."""
        total = self.stats.stages.get(stage)
        return 0 if total is None else total.bytes

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "stats": self.stats.as_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunFacts:
        """Read what `as_json` returned, of this version or a later one."""
        known = {f.name for f in fields(cls)}
        values = {name: inner for name, inner in value.items() if name in known}
        return cls(
            **values
            | {
                "stats": RunStats.from_json(value["stats"]),
                "reasons": tuple(value["reasons"]),
                "files": tuple(ReadFile(**file) for file in value["files"]),
            }
        )


@dataclass(frozen=True)
class ProcessRecord:
    """What one process did: runs of the mill, or calls of tokenizers."""

    pid: int
    command: tuple[str, ...]
    seconds: float
    cpu_seconds: float
    peak_mb: float
    runs: tuple[RunFacts, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "runs": [run.as_json() for run in self.runs]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ProcessRecord:
        """Read what `as_json` returned."""
        runs = tuple(map(RunFacts.from_json, value["runs"]))
        return cls(**{**value, "runs": runs, "command": tuple(value["command"])})
