#!/usr/bin/env python3
"""Throughput on long texts without ordinary words: one letter, spaces, newlines, noise, base64.

    python benchmarks/compare/encode/runs.py TOKENIZERS --mb 10 --timeout 120

Each text is one document of one call. Many libraries need time that grows with the square of a
word's length; `--timeout` ends them, and the table shows it.
"""

from __future__ import annotations

import statistics
import sys

from _driver import (
    REFERENCES,
    Launcher,
    Report,
    Request,
    chosen,
    common_parser,
    print_table,
    progress,
    write_results,
)
from _texts import RUN_KINDS


def main() -> None:
    """Measure, print one table per tokenizer, write the result file."""
    parser = common_parser(str(__doc__).splitlines()[0])
    parser.add_argument("--mb", type=float, default=10)
    parser.add_argument("--kind", action="append", choices=RUN_KINDS, help="repeat (default: all)")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    libraries, folders = chosen(arguments)
    launch = Launcher(arguments)
    rows: list[Report] = []
    for folder in folders:
        for kind in arguments.kind or RUN_KINDS:
            body = {
                "task": "run",
                "tokenizer": str(folder.resolve()),
                "kind": kind,
                "size_bytes": int(arguments.mb * 1e6),
            }
            rows += measure(launch, libraries, body, arguments.rounds)
        show(folder.name, libraries, [row for row in rows if row["tokenizer"] == folder.name])
    write_results(arguments.results, "runs", arguments, rows)


def measure(launch: Launcher, libraries: list[str], body: Report, rounds: int) -> list[Report]:
    """Return one row per library for one text."""
    reports: dict[str, list[Report]] = {library: [] for library in libraries}
    for number in range(rounds):
        for library in libraries:
            if any("cannot" in report for report in reports[library]):
                continue
            progress(f"{body['kind']}, round {number + 1}: {library}")
            reports[library].append(launch(Request(library, body, 1)))
    right = majority(reports)
    name = body["tokenizer"].rsplit("/", 1)[-1]
    return [row(name, body["kind"], k, v, right) for k, v in reports.items()]


def majority(reports: dict[str, list[Report]]) -> str | None:
    """Return a reference's answer, or else the most frequent one: references may time out."""
    answers = {k: v[-1]["ids"] for k, v in reports.items() if "ids" in v[-1]}
    for library in REFERENCES:
        if library in answers:
            return str(answers[library])
    return statistics.mode(answers.values()) if answers else None


def row(
    tokenizer: str, kind: str, library: str, reports: list[Report], right: str | None
) -> Report:
    """Return one row of the result file."""
    facts: Report = {"tokenizer": tokenizer, "kind": kind, "library": library}
    facts["version"] = reports[-1].get("version", "")
    if "cannot" in reports[-1]:
        return {**facts, "cannot": reports[-1]["cannot"]}
    return {
        **facts,
        "answer": "same ids" if reports[-1]["ids"] == right else "OTHER IDS",
        "megabytes_per_second": [report["megabytes_per_second"][0] for report in reports],
        "load_seconds": [report["load_seconds"] for report in reports],
        "peak_mib": [report["peak_mib"] for report in reports],
    }


def show(tokenizer: str, libraries: list[str], rows: list[Report]) -> None:
    """Print MB/s, one line per library; ! marks other ids than the reference or the majority."""
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    sys.stdout.write(f"{tokenizer}, 1 thread, MB/s; ! other ids\n\n")
    cells = {(row["library"], row["kind"]): cell(row) for row in rows}
    lines = [[library, *(cells[library, kind] for kind in kinds)] for library in libraries]
    print_table(("library", *kinds), lines)


def cell(values: Report) -> str:
    """Return one cell of the table."""
    if "cannot" in values:
        return f"cannot: {values['cannot'][:40]}"
    mark = "" if values["answer"] == "same ids" else " !"
    return f"{statistics.median(values['megabytes_per_second']):.1f}{mark}"


if __name__ == "__main__":
    main()
