"""Ideographs under BERT's normalizer: words by the split, as if blanks had been put around them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.encode.against_library import assert_ids_of_library
from tests.load.sources import write_json
from tests.models import compile_payload

from tokenmill._compile.blanks import spell_blanks
from tokenmill._compile.split_plan import spell_ideographs
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

IDEOGRAPHS = "\u4e2d\u6587\u3400\u9fff\uf900\ufa0e\U00020000\U0002f800\U0002b820"
OTHERS = "aB1\u0301\u00e9\u0416\uac00\u3042\u3002\uff0c\u4dc0\u3000 \n\t-\u00ad\U0001f600"
NORMALIZERS: list[dict[str, Any]] = [
    {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    {"clean_text": True, "handle_chinese_chars": True, "strip_accents": True, "lowercase": False},
    {"clean_text": True, "handle_chinese_chars": True, "strip_accents": False, "lowercase": False},
    {"clean_text": True, "handle_chinese_chars": False, "strip_accents": None, "lowercase": True},
    {"clean_text": False, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
]
TOKENS = ["[UNK]", *"ab1\u4e2d\u8c48\u4e3d\u3002\uff0c\u3042", "##b", "##1", "##\u4e2d", "a\u4e2d"]


def tokenizer_of(normalizer: dict[str, Any], *added: dict[str, Any]) -> dict[str, Any]:
    """A WordPiece tokenizer; each added token is a content and its flags."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {token: number for number, token in enumerate(TOKENS)},
    }
    return {
        "added_tokens": [{"id": 90 + n, **flags, **token} for n, token in enumerate(added)],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": model,
    }


def assert_equal(tmp_path: Path, data: dict[str, Any], texts: list[str]) -> None:
    file = write_json(tmp_path, data)
    payload = compile_payload(load_source(file))
    assert_ids_of_library(file, payload, texts)


def random_texts(seed: str) -> list[str]:
    generator = random.Random(seed)  # noqa: S311
    texts = []
    for _ in range(60):
        pool = IDEOGRAPHS * generator.choice([1, 2, 9]) + OTHERS * generator.choice([0, 1, 1])
        texts.append("".join(generator.choices(pool, k=generator.randint(1, 200))))
    return texts


@pytest.mark.parametrize("number", range(len(NORMALIZERS)))
def test_every_normalizer(tmp_path: Path, number: int) -> None:
    data = tokenizer_of({"type": "BertNormalizer", **NORMALIZERS[number]})
    assert_equal(tmp_path, data, random_texts(f"normalizer {number}"))


def test_every_character(tmp_path: Path) -> None:
    data = tokenizer_of({"type": "BertNormalizer", **NORMALIZERS[0]})
    valid = [*range(1, 0xD800), *range(0xE000, 0x30000), *range(0x30000, 0x110000, 4099)]
    texts = [
        "".join(f"a{chr(code)}b {chr(code)}" for code in valid[begin : begin + 4096])
        for begin in range(0, len(valid), 4096)
    ]
    assert_equal(tmp_path, data, texts)


# A later step of the normalizer, or a token looked for in normalized text, sees the blanks.
@pytest.mark.parametrize(
    "data",
    [
        tokenizer_of(
            {
                "type": "Sequence",
                "normalizers": [
                    {"type": "BertNormalizer", **NORMALIZERS[0]},
                    {"type": "Replace", "pattern": {"String": "b "}, "content": "1"},
                ],
            }
        ),
        tokenizer_of(
            {"type": "BertNormalizer", **NORMALIZERS[0]},
            {"content": "b1", "normalized": True, "single_word": True},
            {"content": "\u4e2d\u6587", "normalized": True, "lstrip": True},
        ),
    ],
    ids=["replaced", "added"],
)
def test_blanks_that_are_seen(tmp_path: Path, data: dict[str, Any]) -> None:
    texts = [*random_texts("seen"), "\u4e2db1\u6587", "xb1\u6587", "a\u4e2d\u6587 \u4e2d\u6587b"]
    assert_equal(tmp_path, data, texts)
    spelled = spell_ideographs(spell_blanks(load_source(write_json(tmp_path, data))))
    assert not spelled.ideographs_alone


def test_added_tokens_of_the_raw_text_change_nothing(tmp_path: Path) -> None:
    added = {"content": "\u4e2d\u6587", "single_word": True, "special": True}
    data = tokenizer_of({"type": "BertNormalizer", **NORMALIZERS[0]}, added)
    assert_equal(tmp_path, data, [*random_texts("raw"), "a\u4e2d\u6587", "\u4e2d\u6587", "."])
    spelled = spell_ideographs(spell_blanks(load_source(write_json(tmp_path, data))))
    assert spelled.ideographs_alone
