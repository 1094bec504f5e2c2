"""Added tokens with every combination of flags, on a tokenizer made by hand."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from tests.encode.test_reference_agrees import NORMALIZERS, nasty_texts, random_added_tokens
from tests.load.sources import BYTE_LEVEL, BYTES, added, tokenizer_json, write_json
from tests.models import (
    AS_TEXT,
    ENCODE,
    RAISE,
    Way,
    assert_same,
    compile_payload,
    make_model,
    run_batch,
    ways,
)
from tests.strategies import shifted
from tests.vocabularies import flat

from tokenmill import SpecialTokenInText, UnsupportedTokenizer, _core
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FLAGS = ("special", "normalized", "lstrip", "rstrip", "single_word")
ONCE = [Way(target) for target in _core.targets()]


def definition(tokens: list[dict[str, Any]], **sections: Any) -> dict[str, Any]:
    vocab = {**BYTES, "ab": 256, "abc": 257, "\u0120x": 258}
    return tokenizer_json(vocab=vocab, merges=["a b", "ab c", "\u0120 x"], added=tokens, **sections)


def check(
    data: dict[str, Any], texts: Sequence[str], directory: Path, among: Sequence[Way] = ONCE
) -> None:
    """Compare with `tokenizers`: special tokens found, read as text, and around the text."""
    plain, literal = (tokenizers.Tokenizer.from_str(json.dumps(data)) for _ in range(2))
    literal.encode_special_tokens = True
    payload = compile_payload(load_source(write_json(directory, data)))
    for library, special in ((plain, ENCODE), (literal, AS_TEXT)):
        rows = [one.ids for one in library.encode_batch(list(texts), add_special_tokens=False)]
        for way in among:
            model = make_model(payload, way)
            got = run_batch(model, list(texts), way.threads, special)
            assert_same(got, flat(rows), texts, (special, way))
    around = [one.ids for one in plain.encode_batch(list(texts))]
    got = make_model(payload, among[0]).encode_batch(list(texts), 1, 32, True, ENCODE, 0)
    assert_same(got, flat(around), texts, "around")


@pytest.mark.parametrize("flags", list(product((False, True), repeat=5)), ids=str)
def test_every_combination_of_flags(flags: tuple[bool, ...], tmp_path: Path) -> None:
    named = dict(zip(FLAGS, flags, strict=True))
    tokens = [added("<a>", 259, **named), added("ab", 260, **named), added("<ab", 261)]
    contexts = ["", " ", "x", "_", "\n ", "\u3000", "\u00e9", "\u200d", "!", "1", "<", "<a>", "ab"]
    texts = [f"{x}{t}{y}" for x in contexts for t in ("<a>", "ab", "<ab", "<a") for y in contexts]
    texts += [f"{x} {t}  {y}z" for x in contexts for t in ("<a>", "ab") for y in contexts]
    check(definition(tokens), texts, tmp_path)


@pytest.mark.parametrize("normalizer", NORMALIZERS, ids=str)
@pytest.mark.parametrize("add_prefix_space", [False, True])
def test_random_tokens(
    normalizer: dict[str, Any] | None, add_prefix_space: bool, tmp_path: Path
) -> None:
    generator = random.Random(f"{normalizer}{add_prefix_space}")  # noqa: S311
    pre_tokenizer = {**BYTE_LEVEL, "add_prefix_space": add_prefix_space}
    for seed in range(8):
        data = definition(
            random_added_tokens(generator), normalizer=normalizer, pre_tokenizer=pre_tokenizer
        )
        spec = load_source(write_json(tmp_path, data))
        check(data, nasty_texts(spec.added_tokens, 150, seed), tmp_path)


def test_tokens_at_every_place_of_a_block(tmp_path: Path) -> None:
    tokens = [added("<a>", 259), added("<abc>", 260, rstrip=True, lstrip=True), added("#", 261)]
    few = ["<a>", "<abc>  y", " <abc>", "#", "##", "<ab", "<", "x<a", "<<a>>", "#<a>#", " \n <abc>"]
    texts = (
        shifted(few, range(131)) + shifted(few, range(45), "\u4e2d") + shifted(few, range(70), " ")
    )
    check(definition(tokens), texts, tmp_path, ways())


def test_many_tokens_with_common_beginnings(tmp_path: Path) -> None:
    contents = [
        f"<|{word}|>" for word in ("a", "ab", "abc", "b", "ba", "reserved_1", "reserved_10")
    ]
    contents += ["<|", "|>", "<", "<|a", "\u4e2d\u6587", "\u4e2d", "\U0001f600", "\x00", "  "]
    tokens = [added(content, 259 + i) for i, content in enumerate(contents)]
    choose = random.Random(12)  # noqa: S311
    pieces = [*contents, *(c[:-1] for c in contents), *(c[1:] for c in contents), "a", " ", "\n"]
    texts = ["".join(choose.choices(pieces, k=choose.randrange(1, 60))) for _ in range(800)]
    check(definition(tokens), texts, tmp_path, ways((1, 2)))


def test_white_space_that_is_taken_already_is_no_token(tmp_path: Path) -> None:
    tokens = [added("<a>", 259, rstrip=True), added("\n", 260, lstrip=True)]
    texts = ["<a>\n", "<a>\nx", "x \n<a>\nx", "<a> \n", " \n", "x \n \n"]
    check(definition(tokens), texts, tmp_path)


def test_white_space_behind_what_is_taken_does_not_crash(tmp_path: Path) -> None:
    """The library panics on this; ours gives ids or an error, in every mode."""
    tokens = [added("<a>", 259, rstrip=True), added("\n", 260, lstrip=True)]
    payload = compile_payload(load_source(write_json(tmp_path, definition(tokens))))
    for way in ONCE:
        model = make_model(payload, way)
        for text in ("<a>  \n \nx", "<a>\n\n\n", "<a> \n \n \n<a>\n\n"):
            assert 259 in model.encode(text, False, ENCODE, 0)
            assert 259 not in model.encode(text, False, AS_TEXT, 0)
            with pytest.raises(SpecialTokenInText):
                model.encode(text, False, RAISE, 0)


def test_special_tokens_are_refused_on_request_and_others_are_not(tmp_path: Path) -> None:
    tokens = [added("<s>", 259), added("<plain>", 260, special=False)]
    tokens.append(added("<norm>", 261, normalized=True))
    payload = compile_payload(load_source(write_json(tmp_path, definition(tokens))))
    for way in ONCE:
        model = make_model(payload, way)
        assert 260 in model.encode("a <plain> b", False, RAISE, 0)
        for token in ("<s>", "<norm>"):
            with pytest.raises(SpecialTokenInText) as caught:
                model.encode(f"abc {token} x", False, RAISE, 0)
            assert (caught.value.token, caught.value.offset) == (token, 4)


CONTENTS = [
    "<Tok>", "tok", "\u00e9t\u00e9", "e\u0301", " x ", "\u4e2d", "\u00adab", "\ufb01", "A\u0301",
    "[MASK]", "ABC d", "\u3000q", "o\u200bx",
]  # fmt: skip
PARTS = [
    *CONTENTS, "<tok>", "TOK", "ete", "e", "\u0301", "o", " ", "  ", "x", "\u6587", "\u00ad", "ab",
    "fi", "\t", "\x00", "\u200b", "abc d", "\u3000", "\ufffd", "\ufeff", "\u1100\u1161",
]  # fmt: skip
REMOVING: list[dict[str, Any]] = [
    {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
        "strip_accents": None, "lowercase": True,
    },
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}]},
    {"type": "Nmt"},
    {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": ""},
    {"type": "Replace", "pattern": {"String": "o"}, "content": ""},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REMOVING)))
def test_normalizers_that_remove_characters(tmp_path: Path, number: int) -> None:
    choose = random.Random(number)  # noqa: S311
    for _ in range(4):
        tokens = [
            added(content, 259 + n, normalized=True, lstrip=choose.random() < 0.3)
            for n, content in enumerate(choose.sample(CONTENTS, 3))
        ]
        texts = ["".join(choose.choices(PARTS, k=choose.randint(0, 9))) for _ in range(60)]
        check(definition(tokens, normalizer=REMOVING[number]), texts, tmp_path, ONCE[-1:])


def test_tokens_of_which_nothing_is_left_go_through_the_library(tmp_path: Path) -> None:
    data = definition([added(" \t", 259, normalized=True)], normalizer=REMOVING[1])
    with pytest.raises(UnsupportedTokenizer, match="normalized to nothing"):
        compile_payload(load_source(write_json(tmp_path, data)))
