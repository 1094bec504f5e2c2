"""Does `tokenmill bench --compare` tell the truth? Runs of one build in pairs, and slowed runs.

    python benchmarks/agree/run.py [--slow-build]

Measures the same build again and again. Two runs in a row are a pair, which must be called "not
distinguishable" in 19 of 20 cases. Then every timed call takes 5 % longer, which must be called
worse each time: the clock waits, or with --slow-build another build of the engine does, whose
calls are really slower. Prints a line for each comparison; exit 1 if it does not hold. Takes five
minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

from tokenmill._bench.clock import SLOWDOWN
from tokenmill._bench.compare import Comparison, compare
from tokenmill._bench.measurement import BenchReport

BUILD = Path(__file__).resolve().parents[1] / "build_package.py"
SCENARIOS = "sentence,chat turn,batch,Chinese"
WANTED = 0.95


def main() -> int:
    """Run everything and return the exit status."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        reports = [_bench(options, Path(folder), 0.0) for _ in range(options.pairs + 1)]
        same = [compare(new, old) for old, new in pairwise(reports)]
        _show("same build", same)
        slow = _slow_package(options) if options.slow_build else None
        slowed = [
            _bench(options, Path(folder), options.slowdown, slow) for _ in range(options.slowed)
        ]
        worse = [compare(new, reports[-1 - at]) for at, new in enumerate(slowed)]
        _show(f"{options.slowdown:.0%} slower", worse)
    agreed = sum(_is_same(found) for found in same)
    found = sum(one.overall.verdict == "worse" for one in worse)
    sys.stdout.write(
        f"{agreed} of {len(same)} pairs of the same build are not distinguishable; "
        f"{found} of {len(worse)} slowed runs are called worse\n"
    )
    if options.output is not None:
        _write(options, reports[0].about, same, worse)
    return int(agreed < WANTED * len(same) or found < len(worse))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--slowed", type=int, default=5, help="slowed runs (default: 5)")
    parser.add_argument("--slowdown", type=float, default=0.05, help="(default: 0.05)")
    parser.add_argument("--slow-build", action="store_true", help="slow the engine, not the clock")
    parser.add_argument("--seconds", type=float, default=9, help="of one run (default: 9)")
    parser.add_argument("--repeat", type=int, default=7, help="processes a row (default: 7)")
    parser.add_argument("--scenarios", default=SCENARIOS, help=f"(default: {SCENARIOS})")
    parser.add_argument("--sizes", default="100KB", help="(default: 100KB)")
    parser.add_argument("--output", type=Path, help="write the verdicts as JSON")
    return parser.parse_args()


def _slow_package(options: argparse.Namespace) -> str:
    """Build the engine so that its calls take longer; return the folder of the package."""
    percent = f"TOKENMILL_SLOWED={round(options.slowdown * 100)}"
    done = subprocess.run(  # noqa: S603 -- ours
        [sys.executable, str(BUILD), "slowed", percent],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.strip()


def _bench(
    options: argparse.Namespace, folder: Path, slowdown: float, package: str | None = None
) -> BenchReport:
    begin = time.monotonic()
    path = folder / "result.json"
    command = [
        sys.executable, "-m", "tokenmill", "bench", "latency", "--scenarios", options.scenarios,
        "--sizes", options.sizes, "--seconds", str(options.seconds), "--repeat",
        str(options.repeat), "--json", str(path),
    ]  # fmt: skip
    slow = {SLOWDOWN: str(slowdown)} if package is None else {"PYTHONPATH": package}
    environment = {**os.environ, **slow}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)  # noqa: S603
    sys.stderr.write(f"measured in {time.monotonic() - begin:.1f} s\n")
    return BenchReport.from_json(json.loads(path.read_text(encoding="utf-8")))


def _is_same(found: Comparison) -> bool:
    return all(one.verdict == "not distinguishable" for one in (found.overall, *found.changes))


def _show(name: str, comparisons: list[Comparison]) -> None:
    for found in comparisons:
        ratio = found.overall.ratio
        rows = [f"{c.name} {c.verdict}" for c in found.changes if c.verdict[0] != "n"]
        sys.stdout.write(
            f"{name}: {ratio.value:.4f} ({ratio.low:.4f} to {ratio.high:.4f}) "
            f"{found.overall.verdict}; rows: {', '.join(rows) or 'none'}\n"
        )
    sys.stdout.flush()


def _write(
    options: argparse.Namespace, about: dict[str, Any], same: list[Comparison],
    worse: list[Comparison],
) -> None:  # fmt: skip
    facts = {
        "kind": "agree",
        "date": datetime.now(tz=timezone.utc).isoformat(timespec="seconds"),
        "machine": about["machine"]["cpu"],
        "versions": about["versions"],
        "arguments": {k: v for k, v in vars(options).items() if k != "output"},
        "same": [found.as_json() for found in same],
        "slowed": [found.as_json() for found in worse],
    }
    options.output.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
