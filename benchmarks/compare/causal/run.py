#!/usr/bin/env python3
"""A dataset of text to rows for a Trainer: `datasets.map` and a grouping function, and tokenmill.

    python benchmarks/compare/causal/run.py --tokenizer gpt2/tokenizer.json --text en.txt

JSONL in; rows of input_ids, attention_mask and labels on disk, as Arrow or Parquet. The jobs
take turns over the rounds, each in a fresh process; every token of every row is compared with the
reference before a time is printed. Without --work everything is in a temporary folder.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

from _driver import RESULTS, median_range, print_table, progress, write_results
from benchmarks.compare.causal._runner import JOBS, CausalRunner, find_eos
from benchmarks.compare.pack._jobs import make_files, read_tokenizer

BASE = "datasets"
STEPS = ("load_seconds", "rows_seconds", "save_seconds")
# Arguments that are paths on one machine and do not affect the measurement.
LOCAL = ("tokenizer", "text", "work", "python", "results")


def main() -> None:
    """Measure, print, write the result file; exit 1 if tokenmill's answer is wrong."""
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        arguments.work = (arguments.work or Path(temporary)).resolve()
        arguments.work.mkdir(parents=True, exist_ok=True)
        rows = [row for path in arguments.tokenizer for row in run_tokenizer(arguments, path)]
    measured = argparse.Namespace(**{k: v for k, v in vars(arguments).items() if k not in LOCAL})
    write_results(arguments.results, "causal", measured, rows)
    wrong = [row for row in rows if row["job"] != BASE and row["answer"] != "equal"]
    sys.exit(1 if wrong else 0)


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--tokenizer", type=Path, required=True, action="append", help="a tokenizer.json; repeat"
    )
    parser.add_argument("--text", type=Path, required=True, help="UTF-8 text to cut documents from")
    parser.add_argument("--eos", help="token that ends a document (default: a well-known one)")
    parser.add_argument("--megabytes", type=float, default=27, help="of the JSONL file (27)")
    parser.add_argument("--context-length", type=int, default=1024, help="of a row (1024)")
    parser.add_argument("--format", choices=["arrow", "parquet"], default="arrow", help="(arrow)")
    parser.add_argument("--job", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="processes of datasets.map (2)")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds a process (1800)")
    parser.add_argument(
        "--python", action="append", default=[], metavar="NAME=PATH",
        help="interpreter of a job, of `tokenizers` (the reference), or of `all`",
    )  # fmt: skip
    parser.add_argument("--work", type=Path, help="folder for the files; kept and used again")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the result file")
    return parser.parse_args()


def run_tokenizer(arguments: argparse.Namespace, path: Path) -> list[dict[str, Any]]:
    """Return the rows of the table of one tokenizer."""
    runner = CausalRunner(arguments, read_tokenizer(path, arguments.eos or find_eos(path)))
    progress(f"{path.parent.name}: making the corpus and the reference's answer")
    request = {
        "make": "clean",
        "text": str(arguments.text.resolve()),
        "megabytes": arguments.megabytes,
        "slice_megabytes": 0,
        "formats": [],
        "pieces": 1,
    }
    plain = make_files(arguments.work / "corpus", request) / "whole.jsonl"
    right = runner.reference(plain)
    found: dict[str, list[dict[str, Any]]] = {job: [] for job in arguments.job}
    for number in range(arguments.rounds):
        for job, runs in found.items():
            if not any("failure" in run for run in runs):
                progress(f"{path.parent.name}, round {number + 1} of {arguments.rounds}: {job}")
                runs.append(runner.measured(job, plain, right))
    megabytes = plain.stat().st_size / 1e6
    rows = [summary(path.parent.name, job, runs, megabytes) for job, runs in found.items()]
    show(path.parent.name, rows)
    return rows


def summary(
    tokenizer: str, job: str, runs: list[dict[str, Any]], megabytes: float
) -> dict[str, Any]:
    """Return everything about the runs of one job."""
    row = {"tokenizer": tokenizer, "job": job, "megabytes": megabytes}
    failures = [run["failure"] for run in runs if "failure" in run]
    if failures:
        return {**row, "answer": f"cannot: {failures[0]}"}
    answers = {run["answer"] for run in runs}
    one = answers.pop() if len(answers) == 1 else "DIFFERS from round to round"
    facts = {name: runs[0][name] for name in ("rows", "tokens", "left_out", "types", "versions")}
    lists = (*STEPS, "seconds", "cpu_seconds", "peak_mib", "private_mib", "load")
    return {**row, "answer": one, **facts, **{key: [run[key] for run in runs] for key in lists}}


def show(tokenizer: str, rows: list[dict[str, Any]]) -> None:
    """Print the answers, then the times."""
    sys.stdout.write(f"{tokenizer}: answers, token by token\n")
    for row in rows:
        counts = ""
        if "rows" in row:
            counts = f"{row['rows']:>9,} rows {row['tokens']:>12,} tokens, "
            counts += f"{row['left_out']:,} left out  "
        sys.stdout.write(f"  {row['job']:16} {counts}{row['answer']}\n")
    timed = [row for row in rows if "seconds" in row]
    loads = [load for row in timed for load in row["load"]]
    if loads:
        sys.stdout.write(f"\ntimes; load average {min(loads):.1f} to {max(loads):.1f}\n\n")
    base = next((row for row in timed if row["job"] == BASE), None)
    header = ["job", "rows s", "times", "rows MB/s", "all s", "times", "all MB/s", "load s"]
    header += ["save s", "cpu s", "peak MiB", "private MiB", "answer"]
    print_table(header, [table_row(row, base) for row in timed])


def table_row(row: dict[str, Any], base: dict[str, Any] | None) -> list[str]:
    """Return one line of the table."""
    cells = [row["job"]]
    for name in ("rows_seconds", "seconds"):
        middle = statistics.median(row[name])
        ratio = "-" if base is None else f"{statistics.median(base[name]) / middle:.1f}"
        cells += [f"{middle:.2f}", ratio, median_range([row["megabytes"] / s for s in row[name]])]
    for name in ("load_seconds", "save_seconds", "cpu_seconds"):
        cells.append(f"{statistics.median(row[name]):.2f}")
    cells += [f"{statistics.median(row[name]):.0f}" for name in ("peak_mib", "private_mib")]
    return [*cells, row["answer"]]


if __name__ == "__main__":
    main()
