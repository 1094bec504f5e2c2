"""kill -9 at any step, and the same call again until it is done: not one byte differs."""

from __future__ import annotations

import random
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.children import Order, Outcome, run_child
from tests.mill.corpus import LONGEST, Corpus
from tests.mill.outputs import digests, unfinished_names

if TYPE_CHECKING:
    from pathlib import Path

WAYS: dict[str, dict[str, Any]] = {
    "concat": {"context_length": 128, "format": "bin,megatron"},
    "bestfit": {"context_length": 128, "pack": "bestfit", "validation": 0.2, "format": "parquet"},
    "bestfit of all": {"context_length": 128, "pack": "bestfit", "format": "npy"},
    "shuffle": {"context_length": 96, "shuffle": "docs", "seed": 1, "format": "mds,npy"},
}


class Killing:
    """A run that is killed again and again, and one that is not."""

    def __init__(self, way: str, dirty: Corpus, small_json: Path, folder: Path) -> None:
        self.output = folder / "killed"
        self._dirty = dirty
        self._options = {
            "tokenizer": str(small_json),
            "workers": 3,
            "shard_tokens": 4000,
            "max_document_bytes": LONGEST,
            **WAYS[way],
        }
        self.alone = run_child(self.order(folder / "alone"))
        assert self.alone.error is None
        self.expected = digests(folder / "alone")

    def order(self, output: Path, **how: Any) -> Order:
        return Order(self._dirty.paths, {**self._options, "output": str(output)}, **how)

    def resume(self, **how: Any) -> Outcome:
        return run_child(self.order(self.output, **how))

    def check(self) -> None:
        """Compare, and check that nothing is left of the work folder."""
        assert digests(self.output) == self.expected
        assert not unfinished_names(self.output)
        assert not (self.output / "_work").exists()


def kill_and_resume(
    killing: Killing, kills: int, rng: random.Random, by: int | None = signal.SIGKILL
) -> None:
    """Kill a run at random steps several times, then let it finish."""
    done = 0
    while done < kills:
        outcome = killing.resume(die_at=rng.randint(1, killing.alone.steps * 3 // kills), signal=by)
        if outcome.code == -signal.SIGKILL:
            done += 1
        else:  # it finished
            assert outcome.error is None
            killing.check()
            shutil.rmtree(killing.output)
    assert killing.resume().error is None
    killing.check()


@pytest.mark.parametrize("way", WAYS)
def test_killed_at_steps_and_resumed(
    way: str, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    killing = Killing(way, dirty, small_json, tmp_path)
    kill_and_resume(killing, 3, random.Random(way))  # noqa: S311


def test_killed_at_any_time_and_resumed(dirty: Corpus, small_json: Path, tmp_path: Path) -> None:
    """From outside, some time after a step, whatever it is doing then."""
    killing = Killing("concat", dirty, small_json, tmp_path)
    kill_and_resume(killing, 4, random.Random(4), by=None)  # noqa: S311


@pytest.mark.parametrize("way", ["concat", "bestfit of all"])
def test_killed_with_ids_in_memory_and_resumed(
    way: str, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    """Some runs keep all ids in memory, some a few, some none, and each finds what others left."""
    killing = Killing(way, dirty, small_json, tmp_path)
    rng = random.Random(f"kept {way}")  # noqa: S311
    for number in range(7):
        kept = (10**9, 20_000, 0)[number % 3]
        killing.resume(die_at=rng.randint(1, killing.alone.steps // 2), kept_bytes=kept)
    assert killing.resume(kept_bytes=10**9).error is None
    killing.check()


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGKILL, None], ids=["at steps", "at any time"])
@pytest.mark.parametrize("way", WAYS)
def test_killed_fifty_times(
    way: str, by: int | None, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    killing = Killing(way, dirty, small_json, tmp_path)
    kill_and_resume(killing, 50, random.Random(f"{way} {by}"), by)  # noqa: S311
