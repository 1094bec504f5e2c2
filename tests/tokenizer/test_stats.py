"""`stats=True`, `Tokenizer.stats` and RunStats as users see them."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tokenmill import RunStats, StageTotal, Tokenizer, WordCounts
from tokenmill._stats import STAGES

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["Every word of this text is looked up, and most of them are known. " * 20] * 300


@pytest.fixture(scope="module")
def tokenizer(small_json: Path) -> Tokenizer:
    return Tokenizer.load(small_json)


def seconds_of(stats: RunStats) -> float:
    return sum(total.seconds for total in stats.stages.values())


def test_only_those_who_ask_get_them(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode_batch(["a"]).stats is None
    assert tokenizer.encode_batch(["a"], padding="longest").stats is None
    assert isinstance(tokenizer.encode_batch(["a"], stats=True).stats, RunStats)
    assert tokenizer.encode_batch([], stats=True).stats is not None


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"offsets": "char"}, {"padding": "longest"}, {"pairs": TEXTS, "offsets": "byte"}],
    ids=lambda options: "-".join(options) or "plain",
)
def test_the_stages_add_up_to_wall_time_by_threads(
    tokenizer: Tokenizer, threads: int, options: Any
) -> None:
    plain = tokenizer.encode_batch(TEXTS, threads=threads, **options)
    begin = time.perf_counter()
    batch = tokenizer.encode_batch(TEXTS, threads=threads, stats=True, **options)
    wall = time.perf_counter() - begin
    stats = batch.stats
    assert batch == plain
    assert stats is not None
    assert set(stats.stages) <= set(STAGES)
    assert stats.wall_seconds <= wall
    assert 1 <= stats.threads <= threads
    assert seconds_of(stats) == pytest.approx(stats.wall_seconds * stats.threads, rel=0.03)
    sides = 2 if "pairs" in options else 1
    assert stats.stages["normalize"].bytes == sides * sum(map(len, TEXTS))
    assert stats.words.looked_up == stats.words.missed + sum(stats.words.hit.values()) > 0
    assert stats.memory["results"] > 0
    assert stats.memory["model"] > 0


def test_a_call_counts_only_itself(tokenizer: Tokenizer) -> None:
    first = tokenizer.encode_batch(TEXTS, stats=True, threads=1).stats
    again = tokenizer.encode_batch(TEXTS, stats=True, threads=1).stats
    assert first is not None
    assert again is not None
    assert again.words.looked_up == first.words.looked_up
    assert again.words.missed == 0


def test_totals_grow_with_every_kind_of_call(small_json: Path) -> None:
    tokenizer = Tokenizer.load(small_json, tables="small")
    seen = tokenizer.stats()
    words = tokenizer.encode_batch(TEXTS, stats=True).stats
    assert words is not None
    now = tokenizer.stats()
    assert now.since(seen).words.looked_up == words.words.looked_up
    assert now.since(seen).stages["split"].bytes == sum(map(len, TEXTS))
    for call in (tokenizer.encode, tokenizer.count, lambda text: tokenizer.session().append(text)):
        before = tokenizer.stats().words.looked_up
        call(TEXTS[0])
        assert tokenizer.stats().words.looked_up > before
    assert now.threads == 1
    assert seconds_of(now) == pytest.approx(now.wall_seconds)


def test_totals_are_right_when_threads_call(small_json: Path) -> None:
    tokenizer = Tokenizer.load(small_json, tables="tiny")
    one = tokenizer.encode_batch(TEXTS[:1], stats=True).stats
    assert one is not None
    before = tokenizer.stats()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tokenizer.encode, TEXTS))
    assert tokenizer.stats().since(before).words.looked_up == 300 * one.words.looked_up


def test_short_calls_are_timed_in_samples(small_json: Path) -> None:
    tokenizer = Tokenizer.load(small_json, tables="small")
    before = tokenizer.stats()
    for _ in range(640):
        tokenizer.encode("a few words")
    later = tokenizer.stats().since(before)
    assert later.words.looked_up == 640 * 3
    assert later.stages["split"].seconds > 0


def test_json_and_back() -> None:
    stats = RunStats(
        2.0,
        3,
        {"read": StageTotal(1.5, 7)},
        WordCounts(5, {"8_bytes": 4}, 1, 0),
        {"model": 9},
    )
    assert RunStats.from_json(json.loads(json.dumps(stats.as_json()))) == stats
    assert stats.since(stats).stages == {"read": StageTotal()}
    assert (stats.words + stats.words).since(stats.words) == stats.words
