"""Words that no table knows are merged as `tokenizers` merges them, in any order of merges."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
import tokenizers
from tests.encode.test_long_words import Merge, chain_merges, definition
from tests.load.sources import write_json
from tests.models import TINY, Way, assert_same, compile_payload, make_model, run_batch
from tests.vocabularies import flat

from tokenmill import _core
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TARGETS = _core.targets()
WAYS = [*map(Way, TARGETS), Way(TARGETS[-1], 1, TINY), Way(TARGETS[0], 1, TINY)]
# One to four bytes a letter; with few letters, pairs overlap: aaa, abab.
LETTERS = ["a", "ab", "abc ", "\u0436\u0437", "a\u0436\u00e9 ", "\u0e01\u0e02b", "\U0001f469\u4e2d"]


def check(merges: Sequence[Merge], texts: Sequence[str], directory: Path) -> None:
    data = definition(merges)
    library = tokenizers.Tokenizer.from_str(json.dumps(data))
    expected = flat([one.ids for one in library.encode_batch_fast(list(texts))])
    compiled = compile_payload(load_source(write_json(directory, data)))
    for way in WAYS:
        model = make_model(compiled, way)
        for _ in range(3):  # later passes: from the tables, where words have moved
            assert_same(run_batch(model, list(texts)), expected, texts, way)


def words(rng: random.Random, letters: str, count: int) -> list[str]:
    """Words of up to 130 bytes, where merging takes another way; many of them more than once."""
    longest = 130 // max(len(letter.encode()) for letter in letters)
    sizes = [rng.randint(1, rng.choice([4, 12, 24, longest])) for _ in range(count)]
    found = ["".join(rng.choices(letters, k=size)) for size in sizes]
    return rng.sample([*found, *found[: count // 3]], count + count // 3)


@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("seed", range(4))
def test_words_by_random_merges(letters: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{letters}{seed}")  # noqa: S311
    merges = chain_merges(rng, letters, rng.choice([4, 20, 200]), 24)
    check(merges, words(rng, letters, 400), tmp_path)


@pytest.mark.parametrize("letters", LETTERS)
def test_merges_that_come_before_their_parts(letters: str, tmp_path: Path) -> None:
    """A token may have a lower rank than one of its parts: then the part must not come early."""
    rng = random.Random(letters)  # noqa: S311
    for count in (6, 30, 100):
        merges = chain_merges(rng, letters, count, 16)
        check(rng.sample(merges, len(merges)), words(rng, letters, 300), tmp_path)


def test_batches_with_many_new_words_and_with_few_in_turn(tmp_path: Path) -> None:
    """Batches have more units while many words are new (encode.h, choose_batch)."""
    rng = random.Random(512)  # noqa: S311
    merges = chain_merges(rng, "abc ", 200, 24)
    new = words(rng, "abc ", 6000)
    check(merges, [*new, *rng.choices(new[:50], k=5000), *words(rng, "abcd", 3000)], tmp_path)


def test_ranks_decide_between_overlapping_pairs(tmp_path: Path) -> None:
    check([("a", "b"), ("b", "c")], ["abc", "bc", "abcabc", "bcb"], tmp_path)
    check([("b", "c"), ("a", "b")], ["abc", "bc", "abcabc", "bcb"], tmp_path)
    check([("c", "d"), ("x", "b"), ("b", "cd")], ["xbcd", "bcd", "xbc"], tmp_path)
    check([("b", "b"), ("a", "bb"), ("a", "b")], ["abbb", "abb", "ab", "bbbbb"], tmp_path)
    # The left part is longer than a byte: "xa" takes "b" before "bc" comes up.
    check([("x", "a"), ("xa", "b"), ("b", "c")], ["xabc", "abc", "yabc"], tmp_path)
