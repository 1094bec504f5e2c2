"""Compiled patterns against the engines they are written for."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from tests.reference.split import FancyWords, onig_words, walk, walk_stages
from tests.split.patterns import CHAINS
from tokenizers import Regex, pre_tokenizers

from tokenmill._compile.regex_ast import NotRegular
from tokenmill._compile.split import compile_stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._compile.rules import Stage

ALPHABET = "' sStLlaA\r\n\t/!1\u0085\u3000\u017f\u00b2\u01c5\u02b0\u4e00\u0301\U0001f600\U00011de0"
SMALL = [
    "a++b", "a*+ab|a", "a?+ab|[ab]", "a++$", "a{1,2}a|b", "(?:ab)++", "(?>a|ab)", "(?>a+)b|a",
    "a*?b", "a+?", "a??b|a", "a{2}+b|a", "a{1,2}+b|a", "(?:a|b)+?c", "a+(?=b|$)|c",
    "a(?!b)|b(?=c)|c+", "b$|a+", "a{2,}?b|c", r"[^a]+|a\n?", r"a{0,2}b|c+$|\n", r"\n+$|a|\n",
    r".+|\n", "a|ab", "(?:a|ab)(?:c|bcb)", "(?i:A|b)+c|a", "a(?=)b|c(?!)|b", r"(?!\S)\s|a+\z",
]  # fmt: skip
PREDICATES: dict[str, Callable[[str], Any]] = {
    r"\p{hf:Numeric}": lambda behavior: pre_tokenizers.Digits(behavior == "isolated"),
    r"\p{hf:Punctuation}": pre_tokenizers.Punctuation,
    r"\p{hf:Whitespace}": lambda _behavior: pre_tokenizers.WhitespaceSplit(),
}


def all_texts(alphabet: str, longest: int) -> list[str]:
    return ["".join(t) for n in range(1, longest + 1) for t in product(alphabet, repeat=n)]


def random_texts(alphabet: str, count: int) -> list[str]:
    choose = random.Random(7)  # noqa: S311
    return ["".join(choose.choices(alphabet, k=choose.randint(4, 12))) for _ in range(count)]


def parts_of(texts: list[str]) -> set[str]:
    return {t[i:j] for t in texts for i in range(len(t)) for j in range(i + 1, len(t) + 1)}


def engine_words(stages: tuple[Stage, ...], texts: list[str]) -> list[list[str]]:
    if stages[0][1] == "fancy":
        split = FancyWords(stages[0][0], parts_of(texts))
        return [[word.decode() for word in split(text)] for text in texts]
    steps = pre_tokenizers.Sequence(
        [
            PREDICATES[pattern](behavior)
            if pattern in PREDICATES
            else pre_tokenizers.Split(Regex(pattern), behavior, invert)
            for pattern, _, behavior, invert in stages
        ]
    )
    return [[word for word, _ in steps.pre_tokenize_str(text)] for text in texts]


@pytest.mark.parametrize("name", CHAINS)
def test_patterns_in_use_split_as_their_engine_does(name: str) -> None:
    stages = CHAINS[name]
    tables = [compile_stage(*stage) for stage in stages]
    texts = all_texts(ALPHABET, 2) + random_texts(ALPHABET, 2000)
    expected = engine_words(stages, texts)
    assert [walk_stages(tables, text) for text in texts] == expected


@pytest.mark.parametrize("name", CHAINS)
def test_every_code_point_splits_as_its_engine_does(name: str) -> None:
    stages = CHAINS[name]
    tables = [compile_stage(*stage) for stage in stages]
    edges = {c + d for t in tables for c in t.ranges[:, 0].tolist() for d in (-1, 0)}
    chars = [chr(c) for c in sorted(edges) if c >= 0 and not 0xD800 <= c < 0xE000]
    texts = [f"a{c}1{c} {c}!" for c in chars]
    assert [walk_stages(tables, text) for text in texts] == engine_words(stages, texts)


@pytest.mark.parametrize("pattern", SMALL)
@pytest.mark.parametrize("dialect", ["onig", "fancy"])
def test_small_patterns_split_as_their_engine_does(pattern: str, dialect: str) -> None:
    tables = compile_stage(pattern, dialect, "removed", True)  # type: ignore[arg-type]
    texts = all_texts("abc\n", 5)
    expected = engine_words(((pattern, dialect, "removed", True),), texts)  # type: ignore[arg-type]
    assert [walk(tables, text) for text in texts] == expected


@pytest.mark.parametrize("behavior", ["isolated", "removed", "contiguous"])
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("pattern", ["[ab]", "[ab]+", "[ab]{1,2}"])
def test_behaviours_keep_what_the_reference_keeps(
    behavior: str, invert: bool, pattern: str
) -> None:
    tables = compile_stage(pattern, "onig", behavior, invert)
    for text in all_texts("abc", 6):
        assert walk(tables, text) == onig_words(pattern, text, behavior=behavior, invert=invert)


@pytest.mark.parametrize(
    ("pattern", "behavior"),
    [
        ("a*", "isolated"),
        ("a|", "isolated"),
        ("(?:a?)+b", "isolated"),
        ("(?:ab)++a", "isolated"),
        ("(?>a|ab)c", "isolated"),
        ("(?i:ss)", "isolated"),
        ("[a&&b]", "isolated"),
        ("ab", "contiguous"),
        ("ab", "merged_with_previous"),
        ("[ab]*a[ab]{17}", "isolated"),
    ],
)
def test_what_no_table_can_hold_is_refused(pattern: str, behavior: str) -> None:
    with pytest.raises(NotRegular):
        compile_stage(pattern, "onig", behavior, False)
