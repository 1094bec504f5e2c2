"""The boundary kernels through the shim: their bits against the engines' words."""

from __future__ import annotations

import random
import sys
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.bounds_run import BoundsRunner
from tests.cuda.expected import cut_bits, splitter, start_bits
from tests.models import compile_payload, pair_model, spec_of
from tests.split.patterns import CHAINS, onig
from tests.split.test_masks import (
    CASED_ALPHABET,
    IN_USE,
    at_block_edges,
    name_of,
    rules_of_every_kind,
)
from tests.strategies import (
    ALPHABET,
    CORE_ALPHABET,
    class_strings,
    hostile_texts,
    in_context,
    short_texts,
)

from tokenmill import _core
from tokenmill._compile.rules import pattern_of, recognise
from tokenmill._cuda.layout import BatchCounter, DocumentFlag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.cuda.bounds_run import Bounds

    from tokenmill._compile.rules import NativeRule, Stage

    Make = Callable[..., BoundsRunner]

WIDE = "\u4e2d\u6587\u3042\u30a2\ud55c\u0e01\u0e44\uff0c\u3002\u3000 a\U0001f600"


def facts_of(stages: Sequence[Stage], share: float = 0.6) -> dict[str, Any]:
    """Tables of a model with some pairs of bytes as tokens, so that some characters are joined."""
    model = _core.Model(compile_payload(spec_of(pair_model(share, seed=2), stages)))
    return model.device_tables()


@cache
def facts_by_name(name: str) -> dict[str, Any]:
    return facts_of(CHAINS[name])


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Runners by the name of the split, each compiled once."""
    folder: Path = tmp_path_factory.mktemp("kernels")
    runners: dict[object, BoundsRunner] = {}

    def runner(name: str, tile: int = 64) -> BoundsRunner:
        if (name, tile) not in runners:
            runners[name, tile] = BoundsRunner(facts_by_name(name), folder, tile)
        return runners[name, tile]

    return runner


def kernels_of(facts: dict[str, Any]) -> list[str]:
    """The kernels that can run a split: a chain has no DFA of its own."""
    return ["bounds_masks"] + ["bounds_scan"] * (facts["stage_count"] == 1)


def assert_sound(found: Bounds, tile: int) -> None:
    """Check what holds of every run on well-formed text."""
    assert not found.flags.any()
    assert found.counters[BatchCounter.ARRIVAL] == found.counters[BatchCounter.FLAGGED] == 0
    counts = np.add.reduceat(found.starts, np.arange(0, len(found.starts), tile), dtype=np.uint32)
    assert np.array_equal(found.tile_words, counts)


def assert_equal_bits(got: Any, wanted: Any, texts: Sequence[str], what: object) -> None:
    """Compare bits; the message shows the first text that differs."""
    at = np.flatnonzero(got != wanted)
    if at.size:
        begins = np.cumsum([0, *(len(text.encode()) for text in texts)])
        i = int(np.searchsorted(begins, at[0], "right")) - 1
        part = slice(max(begins[i], at[0] - 40), min(begins[i + 1], at[0] + 24))
        shown = "".join(texts).encode()[part]
        pytest.fail(
            f"{what}: {shown!r}: got {got[part].tolist()}, expected {wanted[part].tolist()}"
        )


def assert_same_both_ways(
    run: BoundsRunner, facts: dict[str, Any], texts: Sequence[str], tile: int = 64
) -> None:
    """Masks and DFA must agree; cuts are those that plain Python finds."""
    documents = [text.encode() for text in texts]
    masks, *scans = (run(kernel, documents, shuffle=3) for kernel in kernels_of(facts))
    assert_sound(masks, tile)
    for scan in scans:
        assert_sound(scan, tile)
        assert_equal_bits(masks.starts, scan.starts, texts, "starts")
        assert_equal_bits(masks.cuts, scan.cuts, texts, "cuts")


@pytest.mark.parametrize("name", IN_USE)
def test_words_of_the_engine(make: Make, name: str) -> None:
    texts = [*short_texts(ALPHABET, 2), *short_texts(CORE_ALPHABET, 3)]
    run, facts = make(name), facts_by_name(name)
    wanted = start_bits(splitter(name, texts), texts)
    for kernel in kernels_of(facts):
        found = run(kernel, [text.encode() for text in texts], shuffle=1)
        assert_sound(found, 64)
        assert_equal_bits(found.starts & ~found.cuts & 1, wanted, texts, kernel)
        cuts = cut_bits(facts, texts) & ~wanted & 1
        assert_equal_bits(found.cuts, cuts, texts, kernel)


@pytest.mark.parametrize("name", [name for name in IN_USE if CHAINS[name][-1][1] == "onig"])
def test_words_of_long_strings_of_the_engine(make: Make, name: str) -> None:
    texts = class_strings(31, 60, 400) + class_strings(32, 60, 400, WIDE)
    wanted = start_bits(splitter(name, texts), texts)
    for kernel in kernels_of(facts_by_name(name)):
        found = make(name)(kernel, [text.encode() for text in texts])
        assert_equal_bits(found.starts & ~found.cuts & 1, wanted, texts, kernel)


@pytest.mark.parametrize("name", IN_USE)
def test_all_short_strings(make: Make, name: str) -> None:
    texts = short_texts(CORE_ALPHABET, 4) + short_texts(CASED_ALPHABET, 4)
    assert_same_both_ways(make(name), facts_by_name(name), texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_USE)
def test_all_longer_strings(make: Make, name: str) -> None:
    for texts in (short_texts(ALPHABET, 3), short_texts(CORE_ALPHABET, 5)):
        assert_same_both_ways(make(name), facts_by_name(name), texts)


@pytest.mark.parametrize(
    ("name", "tile"), [*((name, 64) for name in IN_USE), ("llama3", 128), ("kimi", 128)]
)
def test_long_strings_over_every_edge(make: Make, name: str, tile: int) -> None:
    texts = class_strings(33, 150, 700) + class_strings(34, 100, 700, CASED_ALPHABET)
    texts += at_block_edges()[:: 3 if tile == 64 else 17]
    assert_same_both_ways(make(name, tile), facts_by_name(name), texts, tile)


def runs_of_classes(longest: int) -> list[str]:
    """Runs of each class of many lengths, between neighbours that may change what they are."""
    lengths = (31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 129, longest - 1, longest)
    runs = [c * n for c in "a1 \n/!\u4e2d\u3000\u0663'\u0301A\u3007" for n in lengths]
    runs += ["\n " * (n // 2) for n in lengths]
    sides = product(("", "!", "a", "\n", "!\n/", "12", "\u0301", "'s"), ("", "a", "\n", " ", "'s"))
    return [left + run + right for left, right in sides for run in runs]


@pytest.mark.parametrize("name", IN_USE)
def test_runs_over_several_tiles(make: Make, name: str) -> None:
    assert_same_both_ways(make(name), facts_by_name(name), runs_of_classes(200))


@pytest.mark.parametrize("name", ["gpt2", "qwen3.5", "o200k", "kimi"])
def test_code_points_in_context(make: Make, name: str) -> None:
    few = (*range(0x3400), *range(0xA000, 0xB000), *range(0xF900, 0x11000, 3), 0x10FFFF)
    texts = in_context(code for code in few if not 0xD800 <= code < 0xE000)
    assert_same_both_ways(make(name), facts_by_name(name), texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_USE)
def test_every_code_point_in_context(make: Make, name: str) -> None:
    texts = in_context((*range(0xD800), *range(0xE000, sys.maxunicode + 1)))
    assert_same_both_ways(make(name, 8192), facts_by_name(name), texts, 8192)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "o200k"])
def test_hostile_texts_in_tiles_of_the_usual_size(make: Make, name: str) -> None:
    texts = list(hostile_texts(9000).values())
    assert_same_both_ways(make(name, 8192), facts_by_name(name), texts, 8192)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("llama3", "1" * 80_000),
        ("llama3", "!" + "\n" * 80_000),
        ("llama3", "a\n" + " " * 80_000 + "b"),
        ("o200k", "a" + "\u0301" * 33_000),
    ],
)
def test_runs_too_long_to_follow(make: Make, name: str, text: str) -> None:
    """They are flagged or found; the texts around them are not affected."""
    before, after = "Well, it's 1234.\n\n", " And so\n on 567."
    documents = [part.encode() for part in (before, text, after)]
    found = make(name, 8192)("bounds_masks", documents)
    alone = make(name, 8192)("bounds_masks", [before.encode(), after.encode()])
    assert found.flags.tolist() == [0, DocumentFlag.NO_SYNC, 0]
    assert found.counters[BatchCounter.FLAGGED] == 1
    edges = len(before.encode()), -len(after.encode())
    got = np.concatenate([found.starts[: edges[0]], found.starts[edges[1] :]])
    assert np.array_equal(got, alone.starts)


def test_empty_documents_and_no_text(make: Make) -> None:
    run = make("gpt2")
    found = run("bounds_masks", [b"", b"a b", b"", b"", b"c", b""])
    assert found.starts.tolist() == [1, 1, 0, 1]
    assert found.flags.tolist() == [0] * 6
    assert run("bounds_masks", [b"", b""]).starts.size == 0


def test_order_of_blocks_does_not_matter(make: Make) -> None:
    choose = random.Random(8)  # noqa: S311
    documents = [choose.randbytes(70) + b"a\n b" * 9 for _ in range(40)]
    runs = [make("o200k")("bounds_masks", documents, shuffle=seed) for seed in (None, 1, 2, 3)]
    for other in runs[1:]:
        assert np.array_equal(runs[0].starts, other.starts)
        assert np.array_equal(runs[0].flags, other.flags)
        assert np.array_equal(runs[0].counters, other.counters)


def check_rule(rule: NativeRule, folder: Path) -> None:
    stages = onig(pattern_of(rule))
    if recognise(stages) is not None:
        facts = facts_of(stages)
        texts = short_texts(CORE_ALPHABET, 3) + class_strings(27, 60, 500) + at_block_edges()[::7]
        assert_same_both_ways(BoundsRunner(facts, folder, 64), facts, texts)


@pytest.mark.parametrize("rule", rules_of_every_kind()[5::71], ids=name_of)
def test_rules_of_many_kinds(rule: NativeRule, tmp_path: Path) -> None:
    check_rule(rule, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("rule", rules_of_every_kind(), ids=name_of)
def test_rules_of_every_kind(rule: NativeRule, tmp_path: Path) -> None:
    check_rule(rule, tmp_path)
