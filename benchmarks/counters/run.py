"""What counting costs: the package with and without counters, in turn, on one core.

    python benchmarks/counters/run.py CORPORA/en_web.txt.xz CORPORA/zh.txt.xz [--rounds 60]

Builds both modules with CMake, starts a process with each, and lets them do the same work in turn.
A round is four runs: with, without, without, with. Its ratio is CPU time with counters over CPU
time without, so other processes on the machine hardly matter. Ids are compared first.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parents[1] / "build_package.py"
WORKER = Path(__file__).with_name("_worker.py")
_SAMPLES = 2000  # of the bootstrap


def build(name: str, *, counts: bool) -> Path:
    """Return a folder with a package whose core counts, or does not."""
    chosen = f"TOKENMILL_COUNTERS={'ON' if counts else 'OFF'}"
    done = subprocess.run(  # noqa: S603 -- ours
        [sys.executable, str(BUILD), name, chosen], check=True, stdout=subprocess.PIPE, text=True
    )
    return Path(done.stdout.strip())


@dataclass
class Side:
    """A process with one of the packages."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, package: Path, options: argparse.Namespace) -> Side:
        """Start it on the only core that both use."""
        command = [sys.executable, str(WORKER), str(options.megabytes), options.tokenizer or ""]
        process = subprocess.Popen(  # noqa: S603 -- ours
            [*command, *map(str, options.texts)],
            env=os.environ | {"PYTHONPATH": str(package)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return cls(process)

    def ask(self, case: str) -> Any:
        """Return the answer to one line."""
        print(case, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline() if self.process.stdout else ""
        return json.loads(answer)


def one_ratio(counting: Side, plain: Side, case: str) -> float:
    """Return the ratio of one round."""
    first, other = counting.ask(case), plain.ask(case)
    other += plain.ask(case)
    first += counting.ask(case)
    return float(first / other)


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return a 95 % interval of the median, by drawing rounds again."""
    draw = random.Random(1)  # noqa: S311 -- not a secret
    medians = sorted(
        statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(_SAMPLES)
    )
    return medians[_SAMPLES // 40], medians[-_SAMPLES // 40]


def main() -> int:
    """Print a line for each kind of call; the status is 1 if the ids differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXT", help=".txt or .txt.xz")
    parser.add_argument("--tokenizer", metavar="SOURCE", help="the built-in one if not given")
    parser.add_argument("--rounds", type=int, default=60, metavar="N")
    parser.add_argument("--megabytes", type=float, default=8.0, help="of each text")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the ratios, too")
    options = parser.parse_args()
    counting = Side.start(build("counters-on", counts=True), options)
    plain = Side.start(build("counters-off", counts=False), options)
    about, other = counting.ask("about"), plain.ask("about")
    if about["ids"] != other["ids"] or other["counts"] or not about["counts"]:
        print("the two packages differ:", about, other, file=sys.stderr)
        return 1
    found = {}
    for case in about["cases"]:
        one_ratio(counting, plain, case)  # warms up
        ratios = [one_ratio(counting, plain, case) for _ in range(options.rounds)]
        low, high = interval(ratios)
        median = statistics.median(ratios)
        found[case] = {"ratio": median, "low": low, "high": high, "rounds": options.rounds}
        took = about["cases"][case]
        print(f"{case:24} {median - 1:+7.2%}  [{low - 1:+.2%}, {high - 1:+.2%}]  {took}")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
