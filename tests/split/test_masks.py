"""The mask scanners against the automaton they stand for: both must find the same words.

The ids show the words: `pair_model` merges bytes that touch inside a word.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pytest
from tests.models import (
    TINY,
    Way,
    assert_same,
    compile_payload,
    make_model,
    pair_model,
    run_batch,
    spec_of,
)
from tests.split.patterns import CHAINS, onig
from tests.strategies import (
    ALPHABET,
    CORE_ALPHABET,
    class_strings,
    in_context,
    shifted,
    short_texts,
)

from tokenmill import _core
from tokenmill._compile.rules import NativeRule, pattern_of, recognise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._compile.rules import Stage
    from tokenmill._spec import BpeModel

    Contraction = Literal["none", "exact", "ignore_case"]
    Tail = Literal["", "crlf", "crlf_slash"]

WAYS = [*(Way(target) for target in _core.targets()), Way(_core.targets()[-1], 1, TINY)]
RULES = {name: recognise(stages) for name, stages in CHAINS.items()}
# One name for every rule: some patterns are two ways to write the same.
IN_USE = list({rule: name for name, rule in reversed(RULES.items()) if rule}.values())[::-1]
CASED = ["o200k", "tekken", "kimi"]
CASED_ALPHABET = "aAL\u02b0\u01c5\u0301\u4e2d\u3007'sS\u017f l1!\n\U0001d400"
# What a mark and a capital can meet, and the letters and marks of six scripts.
AROUND_MARKS = "aA\u4e2d!' s1\n"
SCRIPTS = (
    "\u0e01\u0e44\u0e31\u0e34\u0e48",  # Thai
    "\u0915\u0937\u093f\u094d\u0903\u200d",  # Devanagari
    "\u0627\u0644\u064e\u0651",  # Arabic
    "\u05d0\u05e9\u05b8\u05c1",  # Hebrew
    "\u01b0\u1ea4\u1ea5\u0302\u0301",  # Vietnamese
    "\u3042\u30ab\u3099\u2764\ufe0f\u302a",  # Japanese and signs
)


@cache
def all_pairs() -> BpeModel:
    return pair_model()


@cache
def some_pairs() -> BpeModel:
    return pair_model(0.6, seed=2)


def assert_masks_agree(
    model: BpeModel, stages: Sequence[Stage], batches: Sequence[Sequence[str]]
) -> None:
    """Run every batch by the automaton once and by masks on every target."""
    spec = spec_of(model, stages)
    native, plain = compile_payload(spec), compile_payload(spec, native=False)
    assert native != plain, "the split is not recognised: nothing to compare"
    automaton = make_model(plain, Way("scalar"))
    arrays: list[Any] = [pa.array(texts, pa.string()) for texts in batches]
    expected = [run_batch(automaton, array) for array in arrays]
    for way in WAYS:
        masks = make_model(native, way)
        for texts, array, wanted in zip(batches, arrays, expected, strict=True):
            assert_same(run_batch(masks, array), wanted, texts, way)


@cache
def at_block_edges() -> list[str]:
    """Short strings around byte 64, after and before letters, blanks, newlines and others."""
    near = range(59, 66)
    texts: list[str] = []
    for fill, tail in (("x", ""), (" ", "a"), ("\n", " "), ("!", "\n"), ("7", "7")):
        texts += shifted([text + tail for text in short_texts(ALPHABET, 2)], near, fill)
    for fill in ("x", "! \u4e2d", "'s "):
        few = short_texts(CORE_ALPHABET, 3)
        texts += [(fill * 66)[: 58 + i % 7] + text for i, text in enumerate(few)]
    return texts


@pytest.mark.parametrize("name", IN_USE)
def test_all_short_strings(name: str) -> None:
    batches = [short_texts(ALPHABET, 2), short_texts(CORE_ALPHABET, 4)]
    batches.append(short_texts(CASED_ALPHABET, 4))
    assert_masks_agree(all_pairs(), CHAINS[name], batches)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_USE)
def test_all_longer_strings(name: str) -> None:
    batches = [short_texts(ALPHABET, 3), short_texts(CORE_ALPHABET, 5)]
    assert_masks_agree(all_pairs(), CHAINS[name], batches)


@pytest.mark.parametrize("name", IN_USE)
def test_short_strings_at_block_edges(name: str) -> None:
    assert_masks_agree(all_pairs(), CHAINS[name], [at_block_edges()])


@pytest.mark.parametrize("name", IN_USE)
def test_long_strings(name: str) -> None:
    longs = class_strings(21, 400, 700) + class_strings(22, 400, 700, CORE_ALPHABET)
    longs += class_strings(23, 200, 700, CASED_ALPHABET)
    assert_masks_agree(all_pairs(), CHAINS[name], [longs])


@pytest.mark.parametrize("name", IN_USE)
def test_long_strings_at_every_shift(name: str) -> None:
    texts = shifted(class_strings(24, 20, 150), range(131))
    texts += shifted(class_strings(25, 20, 150, CORE_ALPHABET), range(131), "\u4e2d")
    assert_masks_agree(all_pairs(), CHAINS[name], [texts])


@pytest.mark.parametrize("name", CASED)
def test_marks_and_capitals(name: str) -> None:
    batches = [short_texts(AROUND_MARKS + script[0] + script[-1], 4) for script in SCRIPTS]
    for seed, script in enumerate(SCRIPTS):
        batches.append(class_strings(30 + seed, 100, 400, AROUND_MARKS + script))
        batches.append(class_strings(40 + seed, 100, 400, "aA\u4e2d " + script))
    assert_masks_agree(all_pairs(), CHAINS[name], batches)


@pytest.mark.parametrize("name", CASED)
def test_marks_and_capitals_at_every_place_of_a_block(name: str) -> None:
    texts = [f"{a}{b}\u0e34{c}" for a in AROUND_MARKS for b in AROUND_MARKS for c in "aA! \u0e34"]
    texts += [f"\u0e01{a}{b}{c}" for a in "AB\u0e34" for b in "AB\u0e01a!" for c in "AB\u0e01a!"]
    for fill in ("x", "!", "A", "\u0e01", "\u0e34", "\u00e9"):
        assert_masks_agree(all_pairs(), CHAINS[name], [shifted(texts, range(65), fill)])


@pytest.mark.parametrize("name", IN_USE)
def test_words_that_are_cut_into_pieces(name: str) -> None:
    wide = "\u4e2d\u6587\u3042\u30a2\ud55c\u0e01\u0e44\uff0c\u3002\u3000 a\U0001f600"
    texts = class_strings(26, 300, 500, wide) + short_texts(wide, 3) + at_block_edges()[::5]
    assert_masks_agree(some_pairs(), CHAINS[name], [texts])


# One rule for every way to read the classes of a code point.
@pytest.mark.parametrize("name", ["gpt2", "qwen3.5", "o200k", "kimi", "smollm"])
def test_code_points_in_context(name: str) -> None:
    few = (*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, sys.maxunicode + 1, 64))
    assert_masks_agree(all_pairs(), CHAINS[name], [in_context(few)])


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_USE)
def test_every_code_point_in_context(name: str) -> None:
    every = (*range(0xD800), *range(0xE000, sys.maxunicode + 1))
    assert_masks_agree(all_pairs(), CHAINS[name], [in_context(every)])


def rules_of_every_kind() -> list[NativeRule]:
    """Every family with every value of every parameter that it has."""
    base = NativeRule("gpt2", "none", 0)
    contractions: tuple[Contraction, ...] = ("none", "exact", "ignore_case")
    tails: tuple[Tail, ...] = ("", "crlf", "crlf_slash")
    truths = (False, True)
    rules = [
        replace(base, contraction=c, digits=d, letters_with_marks=m, tail=t)
        for c, d, m, t in product(contractions, (0, 1, 2, 3), truths, tails)
    ]
    rules += [
        replace(base, family="cl100k", contraction=c, digits=d, letters_with_marks=m, tail=t)
        for c, d, m, t in product(contractions, (0, 1, 2, 3), truths, tails)
    ]
    rules += [
        replace(base, family="o200k", contraction=c, digits=d, isolate_han=h, tail=t)
        for c, d, h, t in product(contractions, (0, 1, 2, 3), truths, tails)
    ]
    with_end = [replace(rule, end_run=True) for rule in rules if rule.family != "gpt2"]
    return [*rules, *with_end]


def name_of(rule: NativeRule) -> str:
    flags = [
        name for name in ("letters_with_marks", "end_run", "isolate_han") if getattr(rule, name)
    ]
    return "-".join([rule.family, rule.contraction, str(rule.digits), rule.tail or "none", *flags])


def check_rule(rule: NativeRule) -> None:
    """Compare only where the rule is recognised; else the automaton runs, which is exact."""
    stages = onig(pattern_of(rule))
    if recognise(stages) is not None:
        batches = [
            short_texts(CORE_ALPHABET, 3),
            class_strings(27, 120, 500),
            at_block_edges()[::7],
        ]
        assert_masks_agree(some_pairs(), stages, batches)


# A prime step walks through all values of all parameters.
@pytest.mark.parametrize("rule", rules_of_every_kind()[::23], ids=name_of)
def test_rules_of_many_kinds(rule: NativeRule) -> None:
    check_rule(rule)


@pytest.mark.slow
@pytest.mark.parametrize("rule", rules_of_every_kind(), ids=name_of)
def test_rules_of_every_kind(rule: NativeRule) -> None:
    check_rule(rule)
