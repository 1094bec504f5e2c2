#!/usr/bin/env python3
"""What was asked of speed, and what is measured, in one table, in about ten minutes.

    python benchmarks/compare/goals/run.py TOKENIZERS CORPORA --peers .venv-peers/bin/python

Encoding against gigatoken (first and later passes, AVX2 too), lists of str, the whole job, and the
start of a process. Libraries take turns over the rounds, each in a fresh process. Needs an idle
machine: look at the ranges.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

from _driver import RESULTS, print_table, write_results
from benchmarks.compare.goals._encode import encode_rows
from benchmarks.compare.goals._pack import pack_rows
from benchmarks.compare.goals._start import start_rows

if TYPE_CHECKING:
    from benchmarks.compare.goals._rows import Goal

PARTS = {"encode": encode_rows, "pack": pack_rows, "start": start_rows}
# Arguments that are paths on one machine and do not affect the measurement.
LOCAL = ("tokenizers", "corpora", "peers", "results")


def main() -> None:
    """Measure, print each part when it is done, and write the result file."""
    arguments = parse_arguments()
    goals: list[Goal] = []
    for name in arguments.only:
        part = PARTS[name](arguments)
        print_table(("what", "asked", "measured", "range", ""), [goal.cells() for goal in part])
        goals += part
    measured = argparse.Namespace(**{k: v for k, v in vars(arguments).items() if k not in LOCAL})
    write_results(arguments.results, "goals", measured, [vars(goal) for goal in goals])


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("tokenizers", type=Path, help="folder with one folder per tokenizer")
    parser.add_argument("corpora", type=Path, help="folder of .txt or .txt.xz files")
    parser.add_argument("--peers", default=sys.executable, help="interpreter with gigatoken")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=30, help="fresh ones for the start (30)")
    parser.add_argument("--megabytes", type=float, default=270, help="of the whole job (270)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a process (600)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the result file")
    arguments = parser.parse_args()
    arguments.python = [f"gigatoken={arguments.peers}", f"tokenizers={arguments.peers}"]
    return arguments


if __name__ == "__main__":
    main()
