"""The memory tier: its budget, which entries stay, and when it switches itself off."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from tokenmill import OptionError, Tokenizer
from tokenmill._cache import SegmentCache


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


def segment(number: int, size: int = 3000) -> str:
    return (f"segment {number} has words of its own " * 200)[:size]


def test_the_budget_holds_whatever_comes(tokenizer: Tokenizer) -> None:
    cache = SegmentCache(200_000, min_bytes=1, adaptive=False)
    for number in range(300):
        cache.encode(tokenizer, segment(number, 500 + 40 * number))
        memory = cache.stats()["memory"]
        assert memory["bytes"] <= memory["budget"] == 200_000
    assert memory["evictions"] > 200
    cache.resize(50_000)
    assert cache.stats()["memory"]["bytes"] <= 50_000
    cache.clear()
    assert cache.stats()["memory"]["entries"] == 0


def test_the_budget_counts_what_the_process_really_uses() -> None:
    code = """if True:
        import resource
        from tokenmill import Tokenizer
        from tokenmill._cache import SegmentCache
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()
        tokenizer = Tokenizer.load()
        cache = SegmentCache(16 << 20, min_bytes=1, cut_bytes=0, verify=0, adaptive=False)
        for number in range(60_000):  # tables of the engine
            tokenizer.encode(f"segment {number} of words and more words " * (1 + number % 9))
        before = resident()
        for number in range(60_000):
            cache.encode(tokenizer, f"segment {number} of words and more words " * (1 + number % 9))
        print(resident() - before, cache.stats()["memory"]["bytes"])
    """
    if not os.path.exists("/proc/self/statm"):  # noqa: PTH110
        pytest.skip("needs /proc")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    grown, counted = map(int, done.stdout.split())
    assert counted <= 16 << 20
    assert grown < 1.35 * (16 << 20)


def test_entries_that_are_asked_for_outlive_a_flood_of_others(tokenizer: Tokenizer) -> None:
    cache = SegmentCache(300_000, min_bytes=1, cut_bytes=0, verify=0, adaptive=False)
    hot = [segment(-number - 1) for number in range(5)]
    for _ in range(3):
        for text in hot:
            cache.encode(tokenizer, text)
    for number in range(500):
        cache.encode(tokenizer, segment(number))
        if number % 40 == 0:
            for text in hot:
                cache.encode(tokenizer, text)
    before = cache.stats()["memory"]["hits"]
    for text in hot:
        cache.encode(tokenizer, text)
    assert cache.stats()["memory"]["hits"] == before + len(hot)


def test_a_segment_larger_than_half_the_budget_is_refused_and_counted(
    tokenizer: Tokenizer,
) -> None:
    cache = SegmentCache(4000, min_bytes=1, cut_bytes=0, adaptive=False)
    cache.encode(tokenizer, segment(1))
    assert cache.stats()["memory"]["refused"] == 1
    assert cache.stats()["memory"]["entries"] == 0


def test_short_segments_are_not_looked_up(tokenizer: Tokenizer) -> None:
    cache = SegmentCache(min_bytes=1000, adaptive=False)
    cache.encode(tokenizer, segment(1, 999))
    assert cache.stats()["memory"]["lookups"] == 0
    cache.encode(tokenizer, segment(1, 1000))
    assert cache.stats()["memory"]["lookups"] == 1


def test_it_switches_itself_off_where_it_costs_time_and_looks_again(tokenizer: Tokenizer) -> None:
    cache = SegmentCache(1 << 20, min_bytes=1)
    for number in range(6000):  # no text comes twice, and each is shorter than a look-up
        cache.encode(tokenizer, f"{number}")
    (model,) = cache.stats()["models"]
    assert model["memory"]["saved_seconds"] < 0
    assert model["memory"]["switched_off"] >= 1
    assert model["plain"] >= 4096
    assert 256 <= model["memory"]["lookups"] <= 6000 - 4096


def test_it_stays_on_where_texts_come_back(tokenizer: Tokenizer) -> None:
    cache = SegmentCache(8 << 20, verify=0)
    many = [segment(number, 6000) for number in range(10)]
    for _ in range(100):
        for text in many:
            cache.encode(tokenizer, text)
    (model,) = cache.stats()["models"]
    assert model["memory"]["hits"] >= 900
    assert model["saved_seconds"] > 0
    assert model["memory"]["is_on"]


@pytest.mark.parametrize(
    "options", [{"memory_bytes": -1}, {"min_bytes": 0}, {"verify": -1}, {"cut_bytes": 1.5}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        SegmentCache(**options)


def test_a_forked_process_goes_on_with_a_copy(tokenizer: Tokenizer) -> None:
    cache = SegmentCache(min_bytes=1, adaptive=False)
    cache.encode(tokenizer, segment(1))
    child = os.fork()
    if child == 0:
        same = (cache.encode(tokenizer, segment(1)) == tokenizer.encode(segment(1))).all()
        is_hit = cache.stats()["memory"]["hits"] == 1
        os._exit(0 if same and is_hit else 1)
    assert os.waitpid(child, 0)[1] == 0
