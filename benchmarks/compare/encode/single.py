#!/usr/bin/env python3
"""Microseconds of one call on 100 characters, for every library.

python benchmarks/compare/encode/single.py TOKENIZERS CORPUS_FILE
"""

from __future__ import annotations

import statistics
from pathlib import Path

from _driver import (
    Launcher,
    Report,
    Request,
    chosen,
    common_parser,
    median_range,
    print_table,
    progress,
    write_results,
)


def main() -> None:
    """Measure, print one table per tokenizer, write the result file."""
    parser = common_parser(str(__doc__).splitlines()[0])
    parser.add_argument("corpus", type=Path, help="text from which the short texts are cut")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    libraries, folders = chosen(arguments)
    launch = Launcher(arguments)
    rows: list[Report] = []
    for folder in folders:
        body = {
            "task": "single",
            "tokenizer": str(folder.resolve()),
            "corpora": [str(arguments.corpus.resolve())],
        }
        reports: dict[str, list[Report]] = {library: [] for library in libraries}
        for number in range(arguments.rounds):
            for library in libraries:
                progress(f"{folder.name}, round {number + 1}: {library}")
                reports[library].append(launch(Request(library, body, 1)))
        rows += [row(folder.name, library, reports[library]) for library in libraries]
        header = ("library", "same text us", "texts in turn us", "load s", "")
        print_table(header, [table_row(r) for r in rows[-len(libraries) :]])
    write_results(arguments.results, "single", arguments, rows)


def row(tokenizer: str, library: str, reports: list[Report]) -> Report:
    """Return one row of the result file."""
    facts: Report = {"tokenizer": tokenizer, "library": library}
    facts["version"] = reports[-1].get("version", "")
    if "cannot" in reports[-1]:
        return {**facts, "cannot": reports[-1]["cannot"]}
    keys = ("microseconds_same", "microseconds_turn", "load_seconds")
    return {**facts, **{key: [report[key] for report in reports] for key in keys}}


def table_row(values: Report) -> list[str]:
    """Return one line of the table."""
    if "cannot" in values:
        return [values["library"], "", "", "", f"cannot: {values['cannot']}"]
    return [
        values["library"],
        median_range(values["microseconds_same"]),
        median_range(values["microseconds_turn"]),
        f"{statistics.median(values['load_seconds']):.3f}",
        "",
    ]


if __name__ == "__main__":
    main()
