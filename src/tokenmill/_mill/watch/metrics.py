"""A heartbeat as metrics: names, kinds and values, in the manner of the service's metrics.

Prometheus's text format and OTLP are written from the same list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._mill.meter import PHASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

STATES = ("running", "finished", "failed", "stopped")
_PREFIX = "tokenmill_pack_"

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RunMetric:
    """A metric and its values now: a counter only grows during a run, a gauge may fall."""

    name: str
    kind: str  # counter or gauge
    unit: str  # as OTLP writes it
    text: str
    values: tuple[tuple[Labels, float], ...]


def metrics_of(beat: dict[str, Any]) -> list[RunMetric]:
    """Return all metrics of a heartbeat; those whose value is unknown are left out."""
    return [*_counters(beat), *_gauges(beat)]


def _counters(beat: dict[str, Any]) -> Iterator[RunMetric]:
    for name, unit, key, text in (
        ("read_bytes", "By", "input_bytes", "Bytes of the inputs that were read, as stored."),
        ("documents", "{document}", "documents", "Documents that were tokenized."),
        ("tokens", "{token}", "tokens", "Tokens of these documents."),
        ("packed_tokens", "{token}", "packed_tokens", "Tokens that were written to shards."),
        ("shards", "{shard}", "shards", "Shards that are finished."),
    ):
        yield _one(name, "counter", unit, text, beat[key])
    reasons, stages = beat["bad_reasons"], beat["stages"]
    yield _many("bad_records", "counter", "{record}", "Bad records by reason.", reason=reasons)
    yield _many("stage_seconds", "counter", "s", "Time of all workers in a stage.", stage=stages)


def _gauges(beat: dict[str, Any]) -> Iterator[RunMetric]:
    rates = beat["rates"]
    for name, unit, value, text in (
        ("input_bytes", "By", beat["total_bytes"] or None, "Bytes of all inputs, as stored."),
        ("read_bytes_per_second", "By/s", rates["bytes_per_second"], "Speed of the last 30 s."),
        ("tokens_per_second", "{token}/s", rates["tokens_per_second"], "Speed of the last 30 s."),
        ("phase_done_ratio", "1", beat["done"], "How much of the phase is done."),
        ("elapsed_seconds", "s", beat["seconds"], "Time since the run began."),
        ("remaining_seconds", "s", beat["eta_seconds"], "Time that the rest should take."),
        ("idle_seconds", "s", beat["still_seconds"], "Time since a counter changed."),
        ("workers", "{thread}", beat["workers"], "Threads of the run."),
        ("last_beat_timestamp_seconds", "s", beat["written_at"], "When this was written."),
    ):
        if value is not None:
            yield _one(name, "gauge", unit, text, value)
    memory = "Memory of the process: resident, and its peak."
    yield _many("memory_bytes", "gauge", "By", memory, owner=beat["memory"])
    phases = {name: name == beat["phase"] for name in PHASES}
    yield _many("phase", "gauge", "1", "1 for the phase the run is in.", phase=phases)
    states = {name: name == beat["state"] for name in STATES}
    yield _many("state", "gauge", "1", "1 for the state of the run.", state=states)


def _one(name: str, kind: str, unit: str, text: str, value: float) -> RunMetric:
    return RunMetric(_PREFIX + name, kind, unit, text, (((), value),))


def _many(name: str, kind: str, unit: str, text: str, **by_label: Mapping[str, float]) -> RunMetric:
    """Return a metric with one label; the value of the label decides which number it has."""
    ((label, values),) = by_label.items()
    found = tuple((((label, key),), float(value)) for key, value in values.items())
    return RunMetric(_PREFIX + name, kind, unit, text, found)


def as_prometheus(metrics: Sequence[RunMetric], common: Labels = ()) -> bytes:
    """Write metrics in Prometheus's text format; `common` labels are on every value."""
    lines: list[str] = []
    for metric in metrics:
        if not metric.values:
            continue
        name = metric.name + ("_total" if metric.kind == "counter" else "")
        lines += [f"# HELP {name} {metric.text}", f"# TYPE {name} {metric.kind}"]
        for labels, value in metric.values:
            lines.append(f"{name}{_braces((*common, *labels))} {_number(value)}")
    return ("\n".join(lines) + "\n").encode()


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    clean = value.encode("utf-8", "backslashreplace").decode()  # a path need not be UTF-8
    return clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
