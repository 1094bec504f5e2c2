"""Splits that no built-in rule knows: the automata of the core against `tokenizers` itself."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from tests.load.sources import BYTE_LEVEL, BYTES, tokenizer_json, write_json
from tests.models import assert_same, compile_payload, make_model, run_batch, ways
from tests.strategies import ALPHABET, CORE_ALPHABET, class_strings, shifted, short_texts
from tests.vocabularies import flat

from tokenmill._load.byte_level import ALPHABET as SPELLING
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

BYTES_ONLY = {**BYTE_LEVEL, "use_regex": False}
DIGITS = {"type": "Digits", "individual_digits": True}
DIGIT_RUNS = {"type": "Digits", "individual_digits": False}


def split(pattern: str, behavior: str = "Isolated", *, invert: bool = False) -> dict[str, Any]:
    return {
        "type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert,
    }  # fmt: skip


STEPS: dict[str, list[dict[str, Any]]] = {
    "one word": [BYTES_ONLY],
    "digits": [DIGITS, BYTE_LEVEL],
    "digit runs": [DIGIT_RUNS, BYTE_LEVEL],
    "punctuation": [{"type": "Punctuation", "behavior": "Isolated"}, BYTES_ONLY],
    "punctuation runs": [{"type": "Punctuation", "behavior": "Contiguous"}, BYTES_ONLY],
    "dropped blanks": [split(r"\s+", "Removed"), BYTES_ONLY],
    "only letters": [split(r"\p{L}+", "Removed", invert=True), BYTES_ONLY],
    "lines": [split(r"[^\n]*\n|[^\n]+"), BYTES_ONLY],
    "lazy": [split(r"a.*?l|\s+(?=a)|[A-Z]{2,4}"), BYTES_ONLY],
    "four digits": [split(r"\p{N}{1,4}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"), BYTES_ONLY],
    "three stages": [
        split(r"\p{N}{1,3}"),
        split("[\u4e00-\u9fff]+"),
        split(r" ?\S+|\s+"),
        BYTES_ONLY,
    ],
    "on bytes": [BYTE_LEVEL, DIGIT_RUNS, split("[0-9][0-9]")],
    "letters on bytes": [BYTES_ONLY, split(r"\p{L}+")],
}


def definition(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Most pairs of neighbouring bytes merge, so that ids show where words end."""
    choose = random.Random(17)  # noqa: S311
    some = sorted({byte for char in ALPHABET for byte in char.encode()})
    pairs = choose.sample(list(product(some, repeat=2)), int(0.8 * len(some) ** 2))
    merges = [(SPELLING[a], SPELLING[b]) for a, b in pairs]
    vocab = dict(BYTES)
    for left, right in merges:
        vocab.setdefault(left + right, len(vocab))
    return tokenizer_json(
        vocab=vocab,
        merges=[list(merge) for merge in merges],
        pre_tokenizer={"type": "Sequence", "pretokenizers": steps},
    )


@pytest.mark.parametrize("name", STEPS)
def test_any_split_equals_the_library(name: str, tmp_path: Path) -> None:
    data = definition(STEPS[name])
    spec = load_source(write_json(tmp_path, data))
    assert spec.unsupported == ()
    library = tokenizers.Tokenizer.from_str(json.dumps(data))
    texts = short_texts(ALPHABET, 2) + class_strings(51, 100, 300)
    texts += class_strings(52, 100, 300, CORE_ALPHABET)
    texts += shifted(["a1!\u4e2d \n A", "l12 \u3000'S", "\r\n \u0301x"], range(58, 68))
    expected = flat([one.ids for one in library.encode_batch_fast(texts)])
    payload = compile_payload(spec)
    for way in ways((1, 3)):
        got = run_batch(make_model(payload, way), texts, way.threads)
        assert_same(got, expected, texts, (name, way))
