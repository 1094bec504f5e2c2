"""Groups of cases -> rows: one fresh process for each group, round after round.

All groups take turns, so that what disturbs the machine disturbs all of them. With a second
interpreter, each group runs in both, one right after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tokenmill._bench.answers import write_texts
from tokenmill._bench.launch import run_process
from tokenmill._bench.measurement import CallTimes, Measurement
from tokenmill._bench.scenarios import STREAMS, hash_texts
from tokenmill._errors import TokenmillError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PROCESS_SECONDS = 0.25  # to start Python and load a tokenizer
_WARM_UP = 1.3  # a row takes this many times its measured seconds, warm-up included
_LEAST_SECONDS, _MOST_SECONDS = 0.005, 1.0


@dataclass(frozen=True)
class CallRequest:
    """How rows are measured. `seconds`: for all of them together.

    `python`: the interpreter of another installation of tokenmill, which is measured in turn.
    """

    tokenizer: str | None
    pattern: str | None
    rounds: int
    threads: int
    seconds: float
    tables: str = "usual"
    python: str | None = None


@dataclass
class CallCase:
    """One row, before it is measured: its texts and the call that takes them."""

    row: Measurement
    texts: list[str]
    call: str
    threads: int


@dataclass
class CallGroup:
    """Cases that share a process."""

    name: str
    cases: list[CallCase]
    rows: dict[str | None, list[Measurement]] = field(default_factory=dict)  # by interpreter
    versions: dict[str | None, str] = field(default_factory=dict)  # of tokenmill, likewise


def case_of(
    name: str, texts: list[str], call: str, threads: int, labels: dict[str, Any]
) -> CallCase:
    """Return a case; what a call takes of the texts is known when it is measured."""
    size = sum(len(text.encode()) for text in texts)
    row = Measurement(name, labels, texts=len(texts), size_bytes=size, text_hash=hash_texts(texts))
    return CallCase(row, texts, call, threads)


def run_rounds(
    request: CallRequest,
    groups: Sequence[CallGroup],
    report: Callable[[str], None],
    task: Mapping[str, Any] | None = None,
) -> None:
    """Fill the rows of all groups; `task`: what the processes are asked to do with the cases."""
    pythons = [None] if request.python is None else [None, request.python]
    rows = sum(len(group.cases) for group in groups)
    seconds = seconds_of_row(request, rows, len(groups))
    with TemporaryDirectory(prefix="tokenmill-bench-") as name:
        more = {"seconds": seconds, **(task or {"task": "calls"})}
        bodies = [
            _body(request, group, Path(name) / str(at)) | more for at, group in enumerate(groups)
        ]
        for number in range(request.rounds):
            for group, body in zip(groups, bodies, strict=True):
                report(f"round {number + 1} of {request.rounds}: {group.name}")
                for python in pythons if number % 2 == 0 else pythons[::-1]:
                    _run_group(group, body, python)


def seconds_of_row(request: CallRequest, rows: int, groups: int) -> float:
    """Divide the time: what processes need to start is not left for measuring."""
    installations = 1 if request.python is None else 2
    for_processes = request.rounds * groups * installations * _PROCESS_SECONDS
    left = (request.seconds - for_processes) / (request.rounds * rows * installations * _WARM_UP)
    return min(max(left, _LEAST_SECONDS), _MOST_SECONDS)


def _body(request: CallRequest, group: CallGroup, path: Path) -> dict[str, Any]:
    cases = []
    for number, case in enumerate(group.cases):
        texts = path.with_name(f"{path.name}-{number}")
        write_texts(texts, case.texts)
        cases.append({"texts": str(texts), "call": case.call, "threads": case.threads})
    return {
        "source": request.tokenizer,
        "pattern": request.pattern,
        "tables": request.tables,
        "cases": cases,
    }


def _run_group(group: CallGroup, body: dict[str, Any], python: str | None) -> None:
    threads = max(case.threads for case in group.cases)
    report = run_process(body, threads, where=group.name, python=python)
    if "cannot" in report:
        raise TokenmillError(report["cannot"], where=group.name)
    group.versions[python] = report.get("version", "")
    rows = group.rows.setdefault(python, [_empty(case.row) for case in group.cases])
    for row, case, found in zip(rows, group.cases, report["rows"], strict=True):
        _add(row, case, found)


def _add(row: Measurement, case: CallCase, found: dict[str, Any]) -> None:
    if row.ids and row.ids != found["ids"]:
        raise TokenmillError("two processes give different ids for the same text", where=row.name)
    row.ids = found["ids"]
    calls = found["calls"]
    row.texts = STREAMS if case.call == "streams" else case.row.texts / calls
    row.size_bytes, row.tokens = case.row.size_bytes / calls, found["tokens"] / calls
    row.samples.append(CallTimes(**found["sample"]))


def _empty(row: Measurement) -> Measurement:
    return Measurement(
        row.name, dict(row.labels), row.texts, row.size_bytes, text_hash=row.text_hash
    )
