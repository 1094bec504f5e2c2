#!/usr/bin/env python3
"""Throughput of every library on the same documents: cold, second and warm pass, peak memory.

    python benchmarks/compare/encode/run.py TOKENIZERS CORPORA --rounds 3 --limit-mb 20

Libraries take turns over the rounds, so that a slow minute of the machine hits all of them.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _driver import (
    BASE,
    Launcher,
    Report,
    Request,
    chosen,
    common_parser,
    median_range,
    print_table,
    progress,
    reference_ids,
    verdict,
    write_results,
)
from _texts import corpus_files

if TYPE_CHECKING:
    import argparse


def main() -> None:
    """Measure, print one table per tokenizer, corpus and thread count, write the result file."""
    arguments = parse_arguments()
    libraries, folders = chosen(arguments)
    corpora = choose_corpora(arguments)
    launch = Launcher(arguments)
    rows: list[Report] = []
    for folder in folders:
        for name, path in corpora.items():
            body = {
                "task": "passes",
                "tokenizer": str(folder.resolve()),
                "corpora": [str(path.resolve())],
                "limit_bytes": int(arguments.limit_mb * 1e6) if arguments.limit_mb else None,
                "passes": arguments.passes,
            }
            progress(f"{folder.name} {name}: reference")
            right = reference_ids(launch, body)
            for threads in arguments.threads:
                reports = measure(launch, libraries, body, threads, arguments.rounds)
                facts = {"tokenizer": folder.name, "corpus": name, "threads": threads}
                rows += [{**facts, "library": k, **summary(v, right)} for k, v in reports.items()]
                show(facts, rows[-len(reports) :], arguments.passes)
    write_results(arguments.results, "encode", arguments, rows)
    wrong = [row for row in rows if row["answer"] == "OTHER IDS" and row["library"] == "tokenmill"]
    sys.exit(1 if wrong else 0)


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = common_parser(str(__doc__).splitlines()[0])
    parser.add_argument("corpora", type=Path, help="folder of .txt or .txt.xz files")
    parser.add_argument("--corpus", action="append", help="name; repeat (default: all)")
    parser.add_argument("--limit-mb", type=float, help="read only the first part of each corpus")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    return parser.parse_args()


def choose_corpora(arguments: argparse.Namespace) -> dict[str, Path]:
    """Return the selected corpora."""
    found = corpus_files(arguments.corpora)
    names = arguments.corpus or list(found)
    missing = [name for name in names if name not in found]
    if missing or not found:
        sys.exit(f"{arguments.corpora}: no corpus {missing}; hint: it has {', '.join(found)}")
    return {name: found[name] for name in names}


def measure(
    launch: Launcher, libraries: list[str], body: Report, threads: int, rounds: int
) -> dict[str, list[Report]]:
    """Return the reports of every library; one that cannot do it is not run again."""
    reports: dict[str, list[Report]] = {library: [] for library in libraries}
    for number in range(rounds):
        for library in libraries:
            if any("cannot" in report for report in reports[library]):
                continue
            progress(f"{threads} thread(s), round {number + 1} of {rounds}: {library}")
            reports[library].append(launch(Request(library, body, threads)))
    return reports


def summary(reports: list[Report], right: str | None) -> Report:
    """Return medians and all values of one library; answers come first."""
    last = reports[-1]
    answers = {verdict(report, right) for report in reports}
    facts: Report = {"answer": " / ".join(sorted(answers)), "version": last.get("version", "")}
    if "cannot" in last:
        return facts
    columns: list[list[float]] = [list(c) for c in zip(*map(speeds, reports), strict=True)]
    return {
        **facts,
        "megabytes": last["megabytes"],
        "n_documents": last["n_documents"],
        "n_tokens": last["n_tokens"],
        "megabytes_per_second": columns,
        "load_seconds": [report["load_seconds"] for report in reports],
        "peak_mib": [report["peak_mib"] for report in reports],
        "before_mib": [report["before_mib"] for report in reports],
    }


def speeds(report: Report) -> list[float]:
    """Return MB/s of every pass."""
    values: list[float] = report["megabytes_per_second"]
    return values


def show(facts: Report, rows: list[Report], passes: int) -> None:
    """Print the answers, then the times with their ratio to the base library."""
    sys.stdout.write("{tokenizer}, {corpus}, {threads} thread(s)\n".format(**facts))
    for row in rows:
        sys.stdout.write(f"  {row['library']:14} {row['version']:12} {row['answer']}\n")
    sys.stdout.write("\n")
    timed = [row for row in rows if "megabytes_per_second" in row]
    base = next((row for row in timed if row["library"] == BASE), None)
    header = ["library", *(f"pass {n + 1} MB/s" for n in range(passes)), f"pass 1 / {BASE}"]
    header += [f"pass {passes} / {BASE}", "load s", "peak MiB", "answer"]
    print_table(header, (table_row(row, base) for row in timed))


def table_row(row: Report, base: Report | None) -> list[str]:
    """Return one line of the table."""
    columns = row["megabytes_per_second"]
    return [
        row["library"],
        *map(median_range, columns),
        ratio(columns[0], base, 0),
        ratio(columns[-1], base, -1),
        f"{statistics.median(row['load_seconds']):.3f}",
        f"{statistics.median(row['peak_mib']):.0f}",
        row["answer"],
    ]


def ratio(values: list[float], base: Report | None, column: int) -> str:
    """Return how many times faster than the base library, by medians."""
    if base is None:
        return "-"
    other: Any = base["megabytes_per_second"][column]
    return f"{statistics.median(values) / statistics.median(other):.2f}"


if __name__ == "__main__":
    main()
