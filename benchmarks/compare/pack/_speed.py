"""The timed part: the same documents as JSONL, .jsonl.zst and Parquet."""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from _driver import median_range, print_table, progress
from benchmarks.compare.pack._answers import read_answer
from benchmarks.compare.pack._corpus import SUFFIXES
from benchmarks.compare.pack._jobs import LIBRARIES, READER

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.compare.pack._answers import Answer
    from benchmarks.compare.pack._jobs import Runner
    from benchmarks.compare.pack._meter import Measured

Row = dict[str, Any]
OURS = "tokenmill"


@dataclass(frozen=True)
class Corpus:
    """The made files: a whole corpus for fast libraries, its first part in pieces for slow ones."""

    folder: Path
    whole: Answer
    part: Answer

    def inputs(self, kind: str, *, is_slow: bool) -> list[Path]:
        """Return the files to be read."""
        if is_slow:
            return sorted((self.folder / f"pieces-{kind}").iterdir())
        return [self.folder / f"whole{SUFFIXES[kind]}"]

    def megabytes(self, *, is_slow: bool) -> float:
        """Return the size of the documents as plain JSONL, whatever is read."""
        name = "slice.jsonl" if is_slow else "whole.jsonl"
        return (self.folder / name).stat().st_size / 1e6

    def right(self, *, is_slow: bool) -> Answer:
        """Return what the output must be."""
        return self.part if is_slow else self.whole


def open_corpus(folder: Path, runner: Runner) -> Corpus:
    """Return the corpus with its right answers."""
    tokenizer = runner.tokenizer
    answers = [
        read_answer([runner.reference(folder / name)], tokenizer.dtype, tokenizer.eos_id)
        for name in ("whole.jsonl", "slice.jsonl")
    ]
    return Corpus(folder, *answers)


@dataclass
class Runs:
    """All runs of one library on one kind of file."""

    library: str
    measured: list[Measured] = field(default_factory=list)
    answers: set[Answer] = field(default_factory=set)
    failure: str = ""


def time_kind(
    runner: Runner, corpus: Corpus, kind: str, names: list[str], rounds: int
) -> list[Runs]:
    """Let the libraries take turns; one that fails is not run again."""
    all_runs = [Runs(name) for name in [*names, READER]]
    for number in range(rounds):
        for runs in all_runs:
            if runs.failure:
                continue
            progress(f"{kind}, round {number + 1} of {rounds}: {runs.library}")
            run_once(runner, corpus, kind, runs)
    return all_runs


def run_once(runner: Runner, corpus: Corpus, kind: str, runs: Runs) -> None:
    """Run once and keep the answer and the measurement."""
    library = LIBRARIES.get(runs.library)
    inputs = corpus.inputs(kind, is_slow=library is not None and library.is_slow)
    measured = runner.run(runs.library, inputs, kind)
    runs.failure = measured.failure
    if not runs.failure:
        runs.measured.append(measured)
        if library is not None:
            runs.answers.add(runner.answer(runs.library))


def summary(kind: str, runs: Runs, corpus: Corpus) -> Row:
    """Return everything about a library's runs; the answer comes first."""
    row: Row = {"task": kind, "library": runs.library}
    if runs.failure:
        return {**row, "answer": f"cannot: {runs.failure}"}
    library = LIBRARIES.get(runs.library)
    is_slow = library is not None and library.is_slow
    if library is not None:
        row.update(answer_facts(runs.answers, corpus.right(is_slow=is_slow)))
    return {
        **row,
        "megabytes": corpus.megabytes(is_slow=is_slow),
        "seconds": [run.seconds for run in runs.measured],
        "cpu_seconds": [run.cpu_seconds for run in runs.measured],
        "peak_mib": [run.peak_mib for run in runs.measured],
        "private_mib": [run.private_mib for run in runs.measured],
        "load": [run.load for run in runs.measured],
    }


def answer_facts(answers: set[Answer], right: Answer) -> Row:
    """Return counts, hash and verdict of a library's answers."""
    one = min(answers, key=lambda answer: answer.ids)
    verdict = one.against(right) if len(answers) == 1 else "DIFFERS from round to round"
    return {
        "documents": one.documents,
        "tokens": one.tokens,
        "ids": one.ids,
        "answer": verdict,
    }


def show(kind: str, rows: list[Row], starts: dict[str, float]) -> None:
    """Print the answers, then the times."""
    sys.stdout.write(f"{kind}: answers\n")
    for row in rows:
        if row["library"] != READER or "seconds" not in row:
            sys.stdout.write(f"  {answer_line(row)}\n")
    timed = [row for row in rows if "seconds" in row]
    loads = [load for row in timed for load in row["load"]]
    if loads:
        sys.stdout.write(f"\n{kind}: times; load average {min(loads):.1f} to {max(loads):.1f}\n\n")
    base = next((rate(row) for row in timed if row["library"] == OURS), None)
    header = ["library", "MB", "seconds", "MB/s", f"{OURS} / it", "start s"]
    header += ["MB/s after start", "cpu s", "peak MiB", "private MiB", "answer"]
    print_table(header, [table_row(row, base, starts) for row in timed])


def answer_line(row: Row) -> str:
    """Return the line of correctness."""
    if "ids" not in row:
        return f"{row['library']:12} {row['answer']}"
    counts = f"{row['documents']:>9,} documents {row['tokens']:>12,} tokens"
    return f"{row['library']:12} {counts}  ids {row['ids']}  {row['answer']}"


def table_row(row: Row, base: float | None, starts: dict[str, float]) -> list[str]:
    """Return one line of the table."""
    start = starts.get(row["library"], 0.0)
    middle = statistics.median(row["seconds"])
    return [
        row["library"].replace("_", " "),
        f"{row['megabytes']:.0f}",
        f"{middle:.2f}",
        median_range([row["megabytes"] / seconds for seconds in row["seconds"]]),
        "-" if base is None else f"{base / rate(row):.2f}",
        f"{start:.2f}" if start else "-",
        f"{row['megabytes'] / (middle - start):.1f}" if middle > start else "-",
        f"{statistics.median(row['cpu_seconds']):.2f}",
        f"{statistics.median(row['peak_mib']):.0f}",
        f"{statistics.median(row['private_mib']):.0f}",
        row.get("answer", "not asked"),
    ]


def rate(row: Row) -> float:
    """Return MB/s by the median."""
    return float(row["megabytes"] / statistics.median(row["seconds"]))


def show_share(kind: str, rows: list[Row]) -> None:
    """Describe the limit that the reader alone sets for the whole job."""
    found = {(row["task"], row["library"]): row for row in rows if "seconds" in row}
    keys = [(kind, OURS), (kind, READER), ("jsonl", OURS), ("jsonl", READER)]
    if kind == "jsonl" or any(key not in found for key in keys):
        return
    seconds = [statistics.median(found[key]["seconds"]) for key in keys]
    cpu = [statistics.median(found[key]["cpu_seconds"]) for key in keys]
    job, reader, plain, _ = seconds
    floor = max(reader, plain)
    sys.stdout.write(
        f"{kind}: {OURS} {job:.2f} s; {READER.replace('_', ' ')} {reader:.2f} s "
        f"({reader / job:.0%} of it); plain JSONL {plain:.2f} s\n"
        f"{kind}: the slower of both allows {floor:.2f} s; reached {floor / job:.0%} of that rate\n"
        f"{kind}: cpu {cpu[0]:.2f} s; plain JSONL and the reader's extra "
        f"{cpu[2] + cpu[1] - cpu[3]:.2f} s\n\n"
    )
