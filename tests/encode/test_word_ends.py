"""BPE whose last symbol of a word has a suffix, as "</w>", every way it can run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.encode.test_other_models import BERT, CLEAN, WHITE, check
from tests.load.sources import added, write_json
from tokenizers import Tokenizer as Library

from tokenmill import ReferencePathWarning, Tokenizer
from tokenmill._load.byte_level import ALPHABET

if TYPE_CHECKING:
    from pathlib import Path

END = "</w>"
WORDS = {
    "type": "Sequence",
    "pretokenizers": [
        {
            "type": "Split", "behavior": "Removed", "invert": True,
            "pattern": {"Regex": r"<\|e\|>|'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"},
        },
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
    ],
}  # fmt: skip
ONE_BLANK = {
    "type": "Sequence",
    "normalizers": [
        {"type": "NFC"},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    ],
}


def with_ends(generator: random.Random, symbols: list[str]) -> dict[str, Any]:
    """Merges of plain tokens, and of those with tokens that end a word."""
    plain, last = [*symbols], [symbol + END for symbol in symbols]
    merges = []
    for _ in range(60):
        left, right = generator.choice(plain[-30:]), generator.choice([plain, last])
        merged = left + generator.choice(right[-30:])
        if len(merged) < 12 and merged not in right:
            merges.append([left, merged[len(left) :]])
            right.append(merged)
    vocab = {token: number for number, token in enumerate(["<unk>", *plain, *last])}
    return {
        "type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>",
        "end_of_word_suffix": END, "fuse_unk": generator.random() < 0.5,
    }  # fmt: skip


def tokenizer_of(model: dict[str, Any], normalizer: object, split: object) -> dict[str, Any]:
    size = len(model["vocab"])
    tokens = [added("<|E|>", size, normalized=True), added("<s>", size + 1)]
    return {
        "added_tokens": tokens, "normalizer": normalizer, "pre_tokenizer": split,
        "post_processor": None, "decoder": None, "model": model,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_over_bytes(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)  # noqa: S311
    model = with_ends(generator, [*ALPHABET, *"abc"])
    assert check(tmp_path, tokenizer_of(model, ONE_BLANK, WORDS), generator)


@pytest.mark.parametrize("split", ["bert", "white"])
@pytest.mark.parametrize("seed", range(3))
def test_over_characters(tmp_path: Path, seed: int, split: str) -> None:
    generator = random.Random(seed)  # noqa: S311
    model = with_ends(generator, list("abc.<\u4e2d\u6587\u00e9\U0001f468"))
    normalizer, words = (CLEAN, BERT) if split == "bert" else (None, WHITE)
    assert check(tmp_path, tokenizer_of(model, normalizer, words), generator)


def test_places_of_tokens(tmp_path: Path) -> None:
    generator = random.Random(5)  # noqa: S311
    model = with_ends(generator, list("abc\u4e2d\u00e9"))
    file = write_json(tmp_path, tokenizer_of(model, None, WHITE))
    texts = ["abc </w> a</w>b", "aabbcc" * 40 + " \u4e2d\u4e2dx\u4e2d", "\u00e9x xx", "", " c"]
    batch = Tokenizer.load(file).encode_batch(texts, offsets="char")
    assert batch.spans is not None
    for n, right in enumerate(Library.from_file(str(file)).encode_batch(texts)):
        spans = batch.spans[batch.offsets[n] : batch.offsets[n + 1]]
        assert list(map(tuple, spans.tolist())) == right.offsets
        assert batch[n].tolist() == right.ids


@pytest.mark.parametrize(
    ("changes", "merge", "reason"),
    [
        ({}, ["a</", "w>"], "text that is merged"),
        ({"end_of_word_suffix": "c"}, None, "text that is merged"),
        ({"ignore_merges": True}, None, "merges are ignored"),
    ],
)
def test_what_is_not_told_apart_goes_through_the_library(
    tmp_path: Path, changes: dict[str, Any], merge: list[str] | None, reason: str
) -> None:
    model = with_ends(random.Random(1), list("abc<>/w"))  # noqa: S311
    for token in ["a<", "a</", "w>", "a</w>"] if merge else []:
        model["vocab"].setdefault(token, len(model["vocab"]))
    model["merges"] += [["a", "<"], ["a<", "/"], ["w", ">"], merge] if merge else []
    data = tokenizer_of({**model, **changes}, None, WHITE)
    with pytest.warns(ReferencePathWarning, match=reason):
        tokenizer = Tokenizer.load(write_json(tmp_path, data))
    assert tokenizer.describe().path == "reference"
