"""Simulated runs of many ranks, small enough for every test run; and what `plan` says of ranks."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from tokenmill._cli import main
from tokenmill._mill.ranks.simulation import Faults, Simulation, TaskCosts

if TYPE_CHECKING:
    from pathlib import Path

RANKS = 40


def groups(streams: int = 2000) -> dict[str, TaskCosts]:
    rng = random.Random(1)  # noqa: S311
    seconds = [4 * rng.lognormvariate(0, 0.5) for _ in range(streams)]
    return {
        "streams": TaskCosts(seconds, [6] * streams),
        "gather": TaskCosts([1.0]),
        "shards": TaskCosts([0.4] * streams),
        "finish": TaskCosts([1.0]),
    }


def test_ranks_are_busy_and_nothing_is_done_twice() -> None:
    run = Simulation(groups(), RANKS).run()
    assert run.efficiency > 0.9
    assert run.worked == pytest.approx(run.work)
    assert run.takeovers == 0
    assert run.requests["claim"] == run.requests["mark done"] == 4002
    assert list(run.ends.values()) == sorted(run.ends.values())


def test_dead_ranks_cost_a_part_each_and_a_lease() -> None:
    deaths = [(rank, 20.0 + rank, 30.0 if rank % 2 else None) for rank in range(8)]
    calm = Simulation(groups(), RANKS).run()
    run = Simulation(groups(), RANKS, Faults(deaths=deaths), lease=60).run()
    assert run.takeovers == 8
    longest = max(groups()["streams"].seconds) / 6
    assert run.work < run.worked < run.work + 8 * longest
    assert run.seconds < calm.seconds * RANKS / (RANKS - 8) + 60 + 10


def test_a_rank_that_stands_still_is_overtaken() -> None:
    run = Simulation(groups(), RANKS, Faults(pauses=[(3, 50.0, 10_000.0)]), lease=60).run()
    assert run.takeovers == 1
    assert run.seconds < 1000


def test_late_and_slow_ranks() -> None:
    faults = Faults(speeds={0: 0.1}, starts={1: 100.0, 2: 10_000.0})
    run = Simulation(groups(), RANKS, faults).run()
    assert run.worked == pytest.approx(run.work)
    assert run.busy[2] == 0
    assert run.busy[1] < run.busy[3]


def test_a_rank_alone_does_everything() -> None:
    run = Simulation(groups(20), 1).run()
    assert list(run.busy) == pytest.approx([run.work])


def test_all_ranks_die_but_one_that_comes_late() -> None:
    deaths = [(rank, 30.0, None) for rank in range(5)]
    run = Simulation(groups(50), 6, Faults(deaths=deaths, starts={5: 60.0}), lease=60).run()
    assert run.busy[5] > 0
    assert run.takeovers >= 1


def test_plan_with_ranks(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(30):
        text = json.dumps({"text": "hello world " * 2000}) + "\n"
        (tmp_path / f"{number}.jsonl").write_text(text)
    command = [
        "plan", str(tmp_path), "-t", str(small_json), "--context-length", "64", "--workers", "1",
        "-o", str(tmp_path / "out"),
    ]  # fmt: skip
    assert main([*command, "--ranks", "4", "--rate", "0.01", "--lease", "7"]) == 0
    printed = capsys.readouterr().out
    assert "ranks                  4  with 1 worker each" in printed
    assert "skew" in printed
    assert "retry" in printed
    assert main([*command, "--ranks", "4", "--rate", "0.01", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    shared = found["ranks"]
    assert found["seconds"] == pytest.approx(found["input_bytes"] / 10_000)
    assert shared["ranks"] == 4
    assert shared["tokenize_seconds"] <= shared["seconds"]
    assert shared["read_bytes"] > found["input_bytes"]
    assert main([*command, "--ranks", "0"]) == 2
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--ranks", "2", "--rate", "0"])
