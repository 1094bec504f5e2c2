#!/usr/bin/env python3
"""The label step: labels without a loop against nested loops, on the same rows.

    python benchmarks/compare/causal/labels.py

Rows of random ids, some with padding, all with a repeated start that must not count twice. The
answers are compared first. "lists" starts and ends with Python lists, as inside `datasets.map`;
"arrays" is the step as tokenmill runs it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

import numpy as np
from _driver import RESULTS, median_range, print_table, progress, write_results

from tokenmill._causal.windows import Table
from tokenmill._pack import labels

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 20_261_115
IGNORED = -100
VOCABULARY = 128_256
PADDED_EVERY = 10


def main() -> None:
    """Compare, measure, print, write the result file; exit 1 if answers differ."""
    arguments = parse_arguments()
    table = make_table(arguments)
    lists = (table.ids.tolist(), table.lengths.tolist(), table.repeats.tolist())
    steps: dict[str, Callable[[], Any]] = {
        "nested loops, lists": lambda: nested_loops(*lists),
        "tokenmill, lists": lambda: from_lists(*lists),
        "tokenmill, arrays": lambda: from_table(table),
    }
    right = nested_loops(*lists)
    wrong = [name for name, step in steps.items() if np.asarray(step()).tolist() != right]
    if wrong:
        sys.exit(f"other labels than the nested loops: {', '.join(wrong)}")
    seconds = measure(steps, arguments.rounds)
    show(seconds)
    rows = [{"step": name, "answer": "equal", "seconds": found} for name, found in seconds.items()]
    write_results(arguments.results, "causal-labels", arguments, rows)


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000, help="(1000)")
    parser.add_argument("--context-length", type=int, default=2048, help="(2048)")
    parser.add_argument("--overlap", type=int, default=128, help="(128)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the result file")
    return parser.parse_args()


def make_table(arguments: argparse.Namespace) -> Table:
    """Return rows of random ids; every tenth is short."""
    chance = np.random.default_rng(SEED)
    shape = (arguments.rows, arguments.context_length)
    lengths = np.full(arguments.rows, arguments.context_length, np.int64)
    short = lengths[::PADDED_EVERY]
    lengths[::PADDED_EVERY] = chance.integers(1, arguments.context_length, len(short))
    repeats = np.full(arguments.rows, arguments.overlap, np.int64)
    repeats[0] = 0
    ids = chance.integers(0, VOCABULARY, shape, dtype=np.int32)
    return Table(ids, lengths, np.minimum(repeats, lengths))


def nested_loops(
    ids: list[list[int]], lengths: list[int], repeats: list[int]
) -> list[list[int]]:  # fmt: skip
    """Return labels as a plain program makes them."""
    result = []
    for row, length, repeated in zip(ids, lengths, repeats, strict=True):
        labels_of_row = []
        for column, token in enumerate(row):
            if column < repeated or column >= length:
                labels_of_row.append(IGNORED)
            else:
                labels_of_row.append(token)
        result.append(labels_of_row)
    return result


def from_lists(ids: list[list[int]], lengths: list[int], repeats: list[int]) -> list[list[int]]:
    """Return labels of lists, as lists."""
    table = Table(np.array(ids, np.int32), np.array(lengths), np.array(repeats))
    found: list[list[int]] = from_table(table).tolist()
    return found


def from_table(table: Table) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return labels as tokenmill makes them."""
    return labels(
        table.ids,
        table.pieces,
        table.ids.shape[1],
        across_documents=True,
        repeats=table.repeats,
        ignore_index=IGNORED,
        dtype="int32",
    )


def measure(steps: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Let the steps take turns; return the seconds of each."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for name, step in steps.items():
            begin = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def show(seconds: dict[str, list[float]]) -> None:
    """Print a table; the others are compared with the first step."""
    first, *_ = seconds.values()
    base = statistics.median(first)
    rows = [
        [name, median_range([s * 1000 for s in found]), f"{base / statistics.median(found):.1f}"]
        for name, found in seconds.items()
    ]
    print_table(["step", "ms", "times"], rows)


if __name__ == "__main__":
    main()
