"""Cased words: capitals after caseless letters, by masks and by the automaton."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import pytest
from tests.cuda.bounds_run import BoundsRunner
from tests.cuda.expected import splitter, start_bits
from tests.cuda.test_bounds import (
    assert_equal_bits,
    assert_same_both_ways,
    assert_sound,
    facts_by_name,
    facts_of,
)
from tests.split.patterns import onig
from tests.split.test_masks import name_of, rules_of_every_kind
from tests.strategies import class_strings, short_texts

from tokenmill._compile.rules import pattern_of, recognise

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokenmill._compile.rules import NativeRule

    Make = Callable[[str, int], BoundsRunner]

CASED = ["o200k", "tekken", "kimi"]
# Lower case, capital, caseless; then what ends a run, and what may be taken for a part of one.
LETTERS = "sA\u3042"
AROUND = LETTERS + "'1 !\n\u0301\u4e2d"
CAPITALS = LETTERS + "lLS\u01c5\u02b0\u017f\u3042\u30a2\u0410'"
LENGTHS = (1, 9, 10, 11, 12, 20, 21, 22, 31, 32, 33, 43, 44, 64, 65, 200)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Runners by the name of the split and the tile, each compiled once."""
    folder = tmp_path_factory.mktemp("kernels")

    @cache
    def runner(name: str, tile: int) -> BoundsRunner:
        return BoundsRunner(facts_by_name(name), folder, tile)

    return runner


@pytest.mark.parametrize("name", CASED)
def test_all_strings(make: Make, name: str) -> None:
    texts = short_texts(AROUND, 5) + short_texts(LETTERS + "'1", 7)
    assert_same_both_ways(make(name, 64), facts_by_name(name), texts)


@pytest.mark.parametrize("name", CASED)
def test_words_of_the_engine(make: Make, name: str) -> None:
    texts = short_texts(LETTERS + "'\u4e2d!", 5)
    wanted = start_bits(splitter(name, texts), texts)
    found = make(name, 64)("bounds_masks", [text.encode() for text in texts])
    assert_sound(found, 64)
    assert_equal_bits(found.starts & ~found.cuts & 1, wanted, texts, name)


def slid() -> list[str]:
    """Short strings at every place of two words of 32 bytes."""
    middles = ["".join(t) for t in product((*LETTERS, "x's", "\u0301"), repeat=3)]
    ends = ("", "A!", "As", "\u3042")
    return [" " * n + middle + end for middle in middles for end in ends for n in range(66)]


def long_runs() -> list[str]:
    """Runs over windows and tiles on both sides of a capital after a caseless letter."""
    lefts = ("", "a", "A", "x's", "x'S", "'s", "!", "1", "\u4e2d", "a\u0301", "\u4e2da")
    rights = ("", "a", "!", "1", "\u3042", "\u0301", "\u4e2d", "'s")
    runs = [("\u3042" * n, "A" * m) for n in LENGTHS for m in (1, 2, 33)]
    runs += [("\u3042" * n, "A" * m) for n in (1, 7, 30) for m in LENGTHS]
    return [
        left + caseless + capitals + right
        for left, right in product(lefts, rights)
        for caseless, capitals in runs
    ]


@pytest.mark.parametrize(("name", "tile"), [(name, tile) for name in CASED for tile in (64, 128)])
def test_at_every_edge(make: Make, name: str, tile: int) -> None:
    texts = slid()[:: 1 if tile == 64 else 5] + long_runs()
    texts += class_strings(51, 60, 600, CAPITALS) + class_strings(52, 40, 600, AROUND)
    assert_same_both_ways(make(name, tile), facts_by_name(name), texts, tile)


@pytest.mark.parametrize("name", CASED)
def test_marks_between_all_kinds(make: Make, name: str) -> None:
    """Scans begin at places that the masks know, of which these texts have few or many."""
    choose = random.Random(53)  # noqa: S311
    pools = (
        AROUND + "/\u3000\r",
        "\u0e01\u0e35A's",
        "\u0301\u0301a \n",
        "\u0301!1 \u4e2d\u3007/\n",
    )
    texts = [
        "".join(choose.choices(pool + "\u0301" * many, k=choose.randrange(1, 300)))
        for pool in pools for many in (0, 1, 9) for _ in range(60)
    ]  # fmt: skip
    for tile in (64, 256):
        assert_same_both_ways(make(name, tile), facts_by_name(name), texts, tile)


RULES = [rule for rule in rules_of_every_kind() if rule.family == "o200k" and rule.digits == 1]


@pytest.mark.parametrize("rule", RULES[::7], ids=name_of)
def test_rules_of_many_kinds(tmp_path: Path, rule: NativeRule) -> None:
    stages = onig(pattern_of(rule))
    assert recognise(stages) is not None
    facts = facts_of(stages)
    run = BoundsRunner(facts, tmp_path, 64)
    assert_same_both_ways(run, facts, short_texts(AROUND, 4) + slid()[::11] + long_runs()[::3])
