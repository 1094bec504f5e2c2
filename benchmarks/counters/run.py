"""What counting costs: the package with and without counters, in turn, on one core.

    python benchmarks/counters/run.py CORPORA/en_web.txt.xz CORPORA/zh.txt.xz [--layouts 12]

Builds both modules with CMake, starts a process with each, and lets them do the same work in turn.
A round is four runs: with, without, without, with. Its ratio is CPU time with counters over CPU
time without, so other processes on the machine hardly matter. Ids are compared first.

Where the linker puts a function changes its speed by more than counting does. So both modules are
linked several times, with their functions in another order each time (needs lld), and the result
is the median of the layouts. `--build-only` and `--built FOLDER` measure on another machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parents[1] / "build_package.py"
BUILT = Path(__file__).resolve().parents[2] / "build"
WORKER = Path(__file__).with_name("_worker.py")
_SAMPLES = 2000  # of the bootstrap


def build(layout: int) -> None:
    """Make the two packages with one order of their functions."""
    for name, chosen in (("counters-on", "ON"), ("counters-off", "OFF")):
        command = [sys.executable, str(BUILD), name, f"TOKENMILL_COUNTERS={chosen}"]
        command += ["--layout", str(layout)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 -- ours


@dataclass
class Side:
    """A process with one of the packages."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, package: Path, core: int, options: argparse.Namespace) -> Side:
        """Start it on the only core that both use."""
        command = [sys.executable, str(WORKER), str(core), str(options.megabytes)]
        path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
        process = subprocess.Popen(  # noqa: S603 -- ours
            [*command, options.tokenizer or "", *map(str, options.texts)],
            env=os.environ | {"PYTHONPATH": path},
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

    def end(self) -> None:
        """Let the process see the end of its input."""
        self.process.communicate()


def one_ratio(counting: Side, plain: Side, case: str) -> float:
    """Return the ratio of one round."""
    first, other = counting.ask(case), plain.ask(case)
    other += plain.ask(case)
    first += counting.ask(case)
    return float(first / other)


def measure(layout: int, core: int, options: argparse.Namespace) -> dict[str, float]:
    """Return the median ratio of each kind of call in one layout."""
    folders = [options.built / f"counters-{side}" / f"layout-{layout}" for side in ("on", "off")]
    counting, plain = (Side.start(folder, core, options) for folder in folders)
    about, other = counting.ask("about"), plain.ask("about")
    if about["ids"] != other["ids"] or other["counts"] or not about["counts"]:
        sys.exit(f"the two packages differ: {about}, {other}")
    found = {}
    for case in about["cases"]:
        one_ratio(counting, plain, case)  # warms up
        ratios = [one_ratio(counting, plain, case) for _ in range(options.rounds)]
        found[f"{case}, {about['cases'][case]}"] = statistics.median(ratios)
    counting.end()
    plain.end()
    return found


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return a 95 % interval of the median, by drawing layouts again."""
    draw = random.Random(1)  # noqa: S311 -- not a secret
    medians = sorted(
        statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(_SAMPLES)
    )
    return medians[_SAMPLES // 40], medians[-_SAMPLES // 40]


def main() -> None:
    """Print a line for each kind of call; the status is 1 if the ids differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("texts", nargs="*", type=Path, metavar="TEXT", help=".txt or .txt.xz")
    parser.add_argument("--tokenizer", metavar="SOURCE", help="the built-in one if not given")
    parser.add_argument("--layouts", type=int, default=12, metavar="N")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="in each layout")
    parser.add_argument("--megabytes", type=float, default=8.0, help="of each text")
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="layouts at a time")
    parser.add_argument("--build-only", action="store_true", help="build, do not measure")
    parser.add_argument("--built", type=Path, metavar="FOLDER", help="measure what is built there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the ratios, too")
    options = parser.parse_args()
    if options.built is None:
        for layout in range(1, options.layouts + 1):
            build(layout)
        options.built = BUILT
    if options.build_only:
        return
    cores = sorted(os.sched_getaffinity(0))[: options.cores]

    def on_core(core: int) -> list[dict[str, float]]:
        mine = range(1 + cores.index(core), options.layouts + 1, len(cores))
        return [measure(layout, core, options) for layout in mine]

    with ThreadPoolExecutor(len(cores)) as pool:
        layouts = [found for each in pool.map(on_core, cores) for found in each]
    for case in layouts[0]:
        ratios = [found[case] for found in layouts]
        low, high = interval(ratios)
        print(
            f"{case:60} {statistics.median(ratios) - 1:+7.2%}  [{low - 1:+.2%}, {high - 1:+.2%}]"
            f"  layouts {min(ratios) - 1:+.2%} to {max(ratios) - 1:+.2%}"
        )
    if options.json is not None:
        facts = {"layouts": options.layouts, "rounds": options.rounds, "ratios": layouts}
        options.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
