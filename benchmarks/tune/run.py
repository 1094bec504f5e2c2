"""`tokenmill tune` against a grid search: plain JSONL, one .gz file, one core, a small file.

    python benchmarks/tune/run.py TOKENIZER TEXT [--output FILE] [--rounds N] [--trials N]

TEXT is a file of plain text. The grid measures every setting `--rounds` times, in turn; `tune`
then searches as the command does. At the end what `tune` chose and what the grid found best are
measured again, in pairs: the case passes if the grid's choice is not faster beyond the noise. The
small file has one block and a half, so that one of two workers has nothing to do for half of the
time: smaller blocks are faster, and `tune` should say so. Put --work on a disk in memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tokenmill._machine.facts import describe_machine
from tokenmill._tune.confirm import confirm
from tokenmill._tune.search import SearchBudget
from tokenmill._tune.space import TuneSpace, space_of
from tokenmill._tune.trial import TrialRunner
from tokenmill._tune.tune import tune

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._tune.space import TuneSetting

_DOCUMENT = 3000  # characters
_SMALL = 12 << 20  # bytes
_COPIES = 4  # of the text, so that a run takes a second


def main() -> int:
    """Run all cases; 1 if the grid found something that `tune` did not."""
    options = _options()
    results = []
    with TemporaryDirectory(dir=options.work) as name:
        for case, path, cpus in _cases(Path(name), Path(options.text)):
            if options.only and case not in options.only:
                continue
            with _only_on(cpus):
                results.append(_run_case(case, path, Path(name), options))
            print(json.dumps(results[-1]), flush=True)
    if options.output:
        facts = {"machine": describe_machine(gpu=False).as_json(), "cases": results}
        Path(options.output).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return 0 if all(result["passed"] for result in results) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer")
    parser.add_argument("text")
    parser.add_argument("--output")
    parser.add_argument("--work", default=".")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--time", type=float, default=120)
    parser.add_argument("--only", action="append", choices=["plain", "gz", "small", "one-core"])
    return parser.parse_args()


def _cases(folder: Path, text: Path) -> Iterator[tuple[str, Path, set[int]]]:
    """Yield name, input and CPUs of each case."""
    whole = text.read_text(encoding="utf-8")
    starts = range(0, len(whole), _DOCUMENT)
    lines = "".join(json.dumps({"text": whole[at : at + _DOCUMENT]}) + "\n" for at in starts)
    data = lines.encode() * _COPIES
    (folder / "plain.jsonl").write_bytes(data)
    (folder / "small.jsonl").write_bytes(data[: data.rindex(b"\n", 0, _SMALL) + 1])
    (folder / "one.jsonl.gz").write_bytes(gzip.compress(data, 6))
    every = os.sched_getaffinity(0)
    yield "plain", folder / "plain.jsonl", every
    yield "gz", folder / "one.jsonl.gz", every
    yield "small", folder / "small.jsonl", every
    yield "one-core", folder / "plain.jsonl", {min(every)}


@contextmanager
def _only_on(cpus: set[int]) -> Iterator[None]:
    """Let this process and its children run on some CPUs, as a quota or a container would."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _run_case(case: str, path: Path, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    space = space_of(replace(describe_machine(gpu=False), gpu=None))
    arguments = [str(path), "-t", options.tokenizer, "--context-length", "2048"]
    runner = TrialRunner(arguments, folder)
    runner(space.default)  # compiles the tokenizer and reads the file into memory
    best = _grid(space, runner, options.rounds)
    report = tune(space, runner, SearchBudget(options.trials, options.time))
    found: dict[str, Any] = {
        "case": case,
        "settings": space.size,
        "grid": best.as_dict(),
        "tune": report.as_json() | {"trials": len(report.trials)},
        "passed": True,
    }
    if best != report.chosen:
        ratio = confirm(best, report.chosen, runner)
        found["grid_over_tune"] = [ratio.ratio.value, ratio.ratio.low, ratio.ratio.high]
        found["passed"] = not ratio.is_faster
    return found


def _grid(space: TuneSpace, runner: TrialRunner, rounds: int) -> TuneSetting:
    """Measure every setting in turn, and return the one with the lowest median."""
    settings = list(space.grid())
    times: dict[TuneSetting, list[float]] = {setting: [] for setting in settings}
    for number in range(rounds):
        for setting in settings:
            times[setting].append(runner(setting).seconds)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return min(settings, key=lambda setting: statistics.median(times[setting]))


if __name__ == "__main__":
    sys.exit(main())
