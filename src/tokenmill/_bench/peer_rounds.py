"""`bench peers`: the same texts through every library that is installed, ids compared first."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tokenmill._bench.about import about_run
from tokenmill._bench.answers import Answer, check_same, write_texts
from tokenmill._bench.intervals import Interval, median_interval
from tokenmill._bench.launch import run_process
from tokenmill._bench.measurement import BenchReport, CallTimes, Measurement
from tokenmill._bench.peers import PEERS
from tokenmill._bench.rounds import case_of, seconds_of_row
from tokenmill._bench.throughput import split_passes
from tokenmill._bench.tokenizer_files import tokenizer_files
from tokenmill._errors import TokenmillError
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._bench.rounds import CallRequest

OURS = "tokenmill"
# What these say is right; another library with other ids is left out, and the reason shown.
REFERENCES = frozenset({"tokenmill", "tokenizers", "tiktoken"})


@dataclass
class _PeerRun:
    """What the rounds know: where files are, the right ids, and who cannot take part."""

    body: dict[str, Any]
    answer: Path
    threads: int
    not_measured: dict[str, str]
    right: tuple[Answer, str] | None = None

    def run(self, row: Measurement) -> None:
        """Measure one library once; `row` gets its times only if the ids are right."""
        report = run_process({**self.body, "library": row.name}, self.threads, where=row.name)
        if "cannot" in report:
            self.not_measured[row.name] = report["cannot"]
            return
        answer = Answer.read(self.answer)
        if self.right is None:
            self.right = (answer, row.name)
        try:
            check_same(answer, row.name, *self.right, hint=_HINT)
        except TokenmillError as error:
            if row.name in REFERENCES:
                raise
            self.not_measured[row.name] = f"{error.where}: {error.problem}"
            return
        row.ids, row.tokens = answer.hash(), answer.tokens
        row.version, row.note = report["version"], report["note"]
        row.samples.append(CallTimes(**report["sample"]))


_HINT = "nothing is timed that is not equal; --only names the libraries to measure"


def measure_peers(
    request: CallRequest,
    texts: list[str],
    names: Sequence[str],
    report: Callable[[str], None],
) -> BenchReport:
    """Measure the libraries in turn; those that are not installed are named with the reason."""
    missing = {
        name: f"is not installed (pip install {name})" for name in names if not _is_here(name)
    }
    tokenizer = Tokenizer.load(request.tokenizer, pattern=request.pattern)
    found = BenchReport("peers", about_run(tokenizer, request.tokenizer, request.threads))
    found.not_measured = missing
    rows = [_row(name, texts, request.threads) for name in PEERS if name in names]
    with TemporaryDirectory(prefix="tokenmill-bench-") as folder:
        run = _prepare(request, texts, Path(folder), missing, len(rows))
        for number in range(request.rounds):
            for row in rows if number % 2 == 0 else rows[::-1]:
                if row.name not in missing:
                    report(f"round {number + 1} of {request.rounds}: {row.name}")
                    run.run(row)
    measured = [row for row in rows if row.name not in missing]
    found.rows = [half for row in measured for half in split_passes(row)]
    _add_ratios(found.rows)
    return found


def _prepare(
    request: CallRequest, texts: list[str], folder: Path, missing: dict[str, str], rows: int
) -> _PeerRun:
    write_texts(folder / "documents", texts)
    body = {
        **tokenizer_files(request.tokenizer, request.pattern, folder),
        "task": "peer",
        "texts": str(folder / "documents"),
        "answer": str(folder / "answer"),
        "threads": request.threads,
        "seconds": seconds_of_row(request, rows, rows),
    }
    return _PeerRun(body, folder / "answer", request.threads, missing)


def _is_here(name: str) -> bool:
    return name == OURS or find_spec(name) is not None


def _row(name: str, texts: list[str], threads: int) -> Measurement:
    return case_of(name, texts, "batch", threads, {"library": name}).row


def _add_ratios(rows: Sequence[Measurement]) -> None:
    """Say how many times as long each library takes as ours, round by round."""
    for row in rows:
        ours = next((r for r in rows if r.name == f"{OURS}, {row.labels['pass']}"), None)
        if ours is not None and row is not ours:
            ratio = ratio_of_rounds(row, ours)
            row.labels["ratio"] = [ratio.value, ratio.low, ratio.high]


def ratio_of_rounds(row: Measurement, base: Measurement) -> Interval:
    """Return the median of the quotients of the rounds: both ran at nearly the same time."""
    pairs = zip(row.samples, base.samples, strict=False)
    return median_interval([one.p50 / other.p50 for one, other in pairs])
