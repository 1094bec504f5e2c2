#!/usr/bin/env python3
"""Ray against one process, with the same number of workers: the same files, in turn.

    python benchmarks/ranks/ray_speed.py --mb 2000 --rounds 5 --results benchmarks/results

All outputs are compared before a time is printed. The start of Ray (its processes, and one worker
that is ready) is told apart: the ratio is of the times after it. It needs two free cores.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from speed import digest, make_text

import tokenmill

ENGINES = {"local": [], "ray": ["--engine", "ray", "--address", "local"]}


def main() -> None:
    """Measure, print a table, write the result file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--input", type=Path, help="a .jsonl file instead of made-up text")
    parser.add_argument("--options", default="--context-length 2048", help="of pack")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rounds = measure(arguments, Path(name))
    ratio = statistics.median(r["local"] / r["ray"] for r in rounds)
    start = statistics.median(r["start"] for r in rounds)
    print(f"speed of Ray: {ratio:.3f} of one process, and {start:.1f} s to start")
    if arguments.results:
        write(arguments, {"speed": ratio, "start_seconds": start, "rounds": rounds})


def measure(arguments: argparse.Namespace, folder: Path) -> list[dict[str, float]]:
    """Run both in turn."""
    source = arguments.input or make_text(folder / "text.jsonl", arguments.mb)
    rounds = []
    for number in range(arguments.rounds + 1):  # the first one fills the page cache
        facts, hashes = {}, set()
        for engine, more in ENGINES.items():
            facts[engine] = run(arguments, source, folder / engine, more)
            hashes.add(digest(folder / engine))
            shutil.rmtree(folder / engine)
        if len(hashes) > 1:
            sys.exit("the outputs differ")
        found = {engine: told["stats"]["wall_seconds"] for engine, told in facts.items()}
        found["start"] = facts["ray"]["engine"]["start_seconds"]
        print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in found.items()), flush=True)
        if number:
            rounds.append(found)
    return rounds


def run(arguments: argparse.Namespace, source: Path, output: Path, more: list[str]) -> Any:
    """Return what a run tells about itself."""
    command = [
        sys.executable, "-m", "tokenmill", "pack", str(source), "-o", str(output), "--json",
        "--workers", str(arguments.workers), *arguments.options.split(), *more,
    ]  # fmt: skip
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603
    return json.loads(ran.stdout)


def write(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    """Add a file to the results."""
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    facts = {"date": today, "tokenmill": tokenmill.__version__, "mb": arguments.mb, **result}
    path = arguments.results / f"ray-speed-{today}.json"
    path.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
