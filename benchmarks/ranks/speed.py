#!/usr/bin/env python3
"""Two ranks of one worker against one process of two workers: the same files, in turn.

    python benchmarks/ranks/speed.py --mb 1000 --rounds 5 --results benchmarks/results

All outputs are compared before a time is printed. It needs two free cores: without them only the
CPU time says something. The ratio is the time of one process divided by that of the ranks.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tokenmill

WORDS = ("the", "mill", "turns", "raw", "text", "into", "packed", "rows", "of", "tokens")


def main() -> None:
    """Measure, print a table, write the result file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--input", type=Path, help="a .jsonl file instead of made-up text")
    parser.add_argument("--options", default="--context-length 2048", help="of pack")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rounds = measure(arguments, Path(name))
    ratio = statistics.median(r["one_seconds"] / r["two_seconds"] for r in rounds)
    cpu = statistics.median(r["one_cpu"] / r["two_cpu"] for r in rounds)
    print(f"speed of two ranks: {ratio:.3f} of one process (CPU time {cpu:.3f})")
    if arguments.results:
        write(arguments, {"speed": ratio, "cpu": cpu, "rounds": rounds})


def measure(arguments: argparse.Namespace, folder: Path) -> list[dict[str, float]]:
    """Run both in turn."""
    source = arguments.input or make_text(folder / "text.jsonl", arguments.mb)
    rounds = []
    for number in range(arguments.rounds + 1):  # the first one fills the page cache
        one = run(arguments, source, folder / "one", [["--workers", "2"]])
        ranks = [["--workers", "1", "--rank", str(rank), "--ranks", "2"] for rank in range(2)]
        two = run(arguments, source, folder / "two", ranks)
        if one[2] != two[2]:
            sys.exit("the outputs differ")
        print(
            f"one process {one[0]:.2f} s, CPU {one[1]:.2f}; two ranks {two[0]:.2f} s, {two[1]:.2f}"
        )
        if number:
            names = ("one_seconds", "one_cpu", "two_seconds", "two_cpu")
            rounds.append(dict(zip(names, (*one[:2], *two[:2]), strict=True)))
    return rounds


def run(
    arguments: argparse.Namespace, source: Path, output: Path, processes: list[list[str]]
) -> tuple[float, float, str]:
    """Return the seconds, the CPU seconds and a hash of the output."""
    shutil.rmtree(output, ignore_errors=True)
    base = [sys.executable, "-m", "tokenmill", "pack", str(source), "-o", str(output), "--quiet"]
    before, began = cpu_seconds(), time.perf_counter()
    started = [
        subprocess.Popen([*base, *arguments.options.split(), *more])  # noqa: S603
        for more in processes
    ]
    if any(process.wait() for process in started):
        sys.exit("a run has failed")
    seconds = time.perf_counter() - began
    return seconds, cpu_seconds() - before, digest(output)


def cpu_seconds() -> float:
    """Return the CPU time of all processes that have ended."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def digest(output: Path) -> str:
    """Hash the names and bytes of all files."""
    found = hashlib.sha256()
    for path in sorted(output.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            found.update(str(path.relative_to(output)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def make_text(path: Path, megabytes: int) -> Path:
    """Write documents of about 3 KB."""
    rng = random.Random(0)  # noqa: S311
    with path.open("w") as file:
        while file.tell() < megabytes * 1e6:
            text = " ".join(f"{rng.choice(WORDS)}{rng.randrange(300)}" for _ in range(400))
            file.write(json.dumps({"text": text}) + "\n")
    return path


def write(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    """Add a file to the results."""
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    facts = {"date": today, "tokenmill": tokenmill.__version__, "mb": arguments.mb, **result}
    path = arguments.results / f"ranks-speed-{today}.json"
    path.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
