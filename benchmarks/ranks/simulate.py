#!/usr/bin/env python3
"""A thousand ranks over 100,000 files, on a virtual clock: efficiency, requests and double work.

    python benchmarks/ranks/simulate.py --results benchmarks/results

The plan is made by the real planner and the claims by the real protocol; only the work is a number
of seconds. Files have 100 MB of .jsonl.zst on average, a rank is one worker that takes 100 MB of
text in a second, and a request takes 5 ms.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenmill
from tokenmill._mill.ranks.simulation import Faults, SimulatedRun, Simulation, TaskCosts
from tokenmill._mill.run.feed import PART_BYTES
from tokenmill._read import InputFile, ReadRules, deal_streams, text_size

FILE_BYTES = 100e6
TEXT_BYTES_PER_SECOND = 100e6
BYTES_PER_TOKEN = 4
SHARD_TOKENS = 1 << 28
PACKED_TOKENS_PER_SECOND = 100e6
RECORD_SECONDS = 0.0005 / 16  # threads read them


@dataclass(frozen=True)
class Scene:
    """What goes wrong in a run, and how soon it is noticed."""

    name: str
    deaths: float = 0.0  # the share of ranks that die
    returns: float = 0.0  # the share of those that are started again, after a minute
    pauses: float = 0.0  # the share of ranks that stop for five minutes
    slow: float = 0.0  # the share of ranks that are ten times slower
    late: float = 0.0  # the share of ranks that start up to two minutes late
    lease: float = 120.0


SCENES = (
    Scene("nothing goes wrong"),
    Scene("all of the below", 0.05, 0.5, 0.02, 0.02, 0.3),
    Scene("5 % die, half of them return", deaths=0.05, returns=0.5),
    Scene("the same, lease of 30 s", deaths=0.05, returns=0.5, lease=30),
    Scene("2 % stop for five minutes", pauses=0.02),
    Scene("2 % are ten times slower", slow=0.02),
    Scene("30 % start up to two minutes late", late=0.3),
)


def main() -> None:
    """Simulate all scenes, print a table, write the result file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    rows = simulate(arguments.ranks, arguments.files, arguments.seed)
    print(table(rows))
    if arguments.results:
        write(arguments, rows)


def simulate(ranks: int, files: int, seed: int) -> list[dict[str, Any]]:
    """Return a row for each scene."""
    groups = plan_groups(files, random.Random(seed))  # noqa: S311
    work = sum(sum(costs.seconds) for costs in groups.values())
    rows = []
    for scene in SCENES:
        faults = choose_faults(scene, ranks, work / ranks, random.Random(seed))  # noqa: S311
        began = time.perf_counter()
        run = Simulation(groups, ranks, faults, lease=scene.lease).run()
        rows.append({"scene": scene.name, **facts(run), "took": time.perf_counter() - began})
        print(row_text(rows[-1]), flush=True)
    return rows


def plan_groups(files: int, rng: random.Random) -> dict[str, TaskCosts]:
    """Let the real planner divide files of many sizes, and put a time to each task."""
    sizes = [int(FILE_BYTES * rng.lognormvariate(-0.125, 0.5)) for _ in range(files)]
    inputs = [
        InputFile(0, f"{n:06d}.jsonl.zst", s, 0, "jsonl", "zstd") for n, s in enumerate(sizes)
    ]
    texts = [
        sum(text_size(inputs[segment.file]) for segment in stream.segments)
        for stream in deal_streams(inputs, ReadRules())
    ]
    commits = [max(1, round(text / PART_BYTES)) for text in texts]
    shards = max(1, round(sum(texts) / BYTES_PER_TOKEN / SHARD_TOKENS))
    return {
        "streams": TaskCosts(
            [text / TEXT_BYTES_PER_SECOND for text in texts],
            commits,
        ),
        "gather": TaskCosts([sum(commits) * RECORD_SECONDS]),
        "shards": TaskCosts([SHARD_TOKENS / PACKED_TOKENS_PER_SECOND] * shards),
        "finish": TaskCosts([shards * RECORD_SECONDS]),
    }


def choose_faults(scene: Scene, ranks: int, usual: float, rng: random.Random) -> Faults:
    """Choose the ranks that something happens to, and when, within the usual time of a run."""

    def some(share: float) -> list[int]:
        return rng.sample(range(ranks), round(share * ranks))

    return Faults(
        deaths=[
            (rank, rng.uniform(0, usual), 60.0 if rng.random() < scene.returns else None)
            for rank in some(scene.deaths)
        ],
        pauses=[(rank, rng.uniform(0, usual), 300.0) for rank in some(scene.pauses)],
        speeds=dict.fromkeys(some(scene.slow), 0.1),
        starts={rank: rng.uniform(0, 120) for rank in some(scene.late)},
    )


def facts(run: SimulatedRun) -> dict[str, Any]:
    """Return what a row shows."""
    requests = sum(run.requests.values())
    return {
        "seconds": round(run.seconds, 1),
        "efficiency": round(run.efficiency, 4),
        "double_work": round(run.worked / run.work - 1, 5),
        "takeovers": run.takeovers,
        "requests": requests,
        "requests_per_second": round(requests / run.seconds),
        "listed_names": run.listed_names,
        "requests_by_kind": run.requests,
        "ends": {name: round(end, 1) for name, end in run.ends.items()},
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown."""
    lines = [
        "| what goes wrong | time | efficiency | lost or double work | taken over | requests "
        "| a second | names listed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(row_text, rows)])


def row_text(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    return (
        f"| {row['scene']} | {row['seconds']:,.0f} s | {row['efficiency']:.1%} "
        f"| {abs(row['double_work']):.3%} | {row['takeovers']:,} | {row['requests']:,} "
        f"| {row['requests_per_second']:,} | {row['listed_names'] / 1e6:,.0f} M |"
    )


def write(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Add a file to the results."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    result = {
        "date": today,
        "commit": commit.stdout.strip(),
        "tokenmill": tokenmill.__version__,
        "ranks": arguments.ranks,
        "files": arguments.files,
        "seed": arguments.seed,
        "rows": rows,
    }
    path = arguments.results / f"ranks-simulated-{today}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
