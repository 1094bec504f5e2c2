"""The engine on models other than byte-level BPE, every way it can run, against `tokenizers`."""

from __future__ import annotations

import random
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import pytest
from tests.encode.against_library import assert_ids_of_library
from tests.encode.test_reference_models import (
    BAR,
    BYTE_TOKENS,
    character_bpe,
    texts,
    unigram,
    wordlevel,
    wordpiece,
)
from tests.load.sources import added, write_json
from tests.models import compile_payload, make_model, run_batch, ways
from tests.strategies import hostile_texts
from tokenizers import Tokenizer

from tokenmill._errors import UnsupportedTokenizer
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BLANKS = {"type": "Replace", "pattern": {"String": " "}, "content": BAR}
MARKED = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": BAR}, BLANKS]}
SPACE = {"type": "Metaspace", "replacement": BAR}
WHITE = {"type": "WhitespaceSplit"}
WORDS_AND_SPACE = {"type": "Sequence", "pretokenizers": [WHITE, SPACE]}
BERT = {"type": "BertPreTokenizer"}
CLEAN = {
    "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
    "strip_accents": None, "lowercase": True,
}  # fmt: skip
# Normalizer and pre-tokenizer, as the families of models have them.
SETTINGS: dict[str, tuple[Any, Any]] = {
    "marked": (MARKED, None),
    "replaced": (
        BLANKS,
        {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": False},
    ),
    "metaspace": (None, SPACE),
    "first": (None, {**SPACE, "prepend_scheme": "first"}),
    "never": (None, {**SPACE, "prepend_scheme": "never"}),
    "words": (None, WORDS_AND_SPACE),
    "bert": (CLEAN, BERT),
    "bert as it is": (None, BERT),
    "white": ({"type": "NFKC"}, WHITE),
}
MODELS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "bpe": character_bpe,
    "wordpiece": wordpiece,
    "wordlevel": wordlevel,
    "unigram": unigram,
}
FRAGMENTS = [
    "a",
    "bc",
    "abc",
    "<s>",
    "\u4e2d\u6587",
    "\u201cab\u201d",
    "\u2014",
    "A",
    "...",
    "\r\n",
]


def with_bytes(generator: random.Random) -> dict[str, Any]:
    """BPE over characters with a token for every byte and merges that reach over everything."""
    letters = list(f"abcd{BAR}.,\n1\u00e9\u4e2d\u6587\u672c")
    tokens = ["<unk>", *BYTE_TOKENS, *letters]
    merges = []
    for _ in range(40):
        left, right = generator.choice(tokens[257:]), generator.choice(tokens[257:])
        if len(left + right) <= 9:
            merges.append([left, right])
            tokens.append(left + right)
    vocab = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return {
        "type": "BPE", "vocab": vocab, "merges": merges, "byte_fallback": True,
        "unk_token": "<unk>", "fuse_unk": True,
    }  # fmt: skip


def check(path: Path, data: dict[str, Any], generator: random.Random) -> bool:
    """Compare every way of running a tokenizer; False if it is left to the library."""
    file = write_json(path, data)
    try:
        payload = compile_payload(load_source(file))
    except UnsupportedTokenizer:
        return False
    cases = texts(generator, FRAGMENTS, 40)
    cases += [text[:700] for text in hostile_texts(700).values()]
    assert_ids_of_library(file, payload, cases)
    return True


def tokenizer_of(model: dict[str, Any], setting: str) -> dict[str, Any]:
    normalizer, pre_tokenizer = SETTINGS[setting]
    size = len(model["vocab"])
    return {
        "added_tokens": [added("<s>", size), added("[A]", size + 1, rstrip=True, special=False)],
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None,
        "decoder": None, "model": model,
    }  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", MODELS)
def test_small_models_in_every_way(tmp_path: Path, kind: str, setting: str) -> None:
    generator = random.Random(f"{kind} {setting}")  # noqa: S311
    for _ in range(3):
        check(tmp_path, tokenizer_of(MODELS[kind](generator), setting), generator)


@pytest.mark.parametrize("setting", ["marked", "replaced", "metaspace", "first", "words"])
def test_bytes_for_what_is_unknown(tmp_path: Path, setting: str) -> None:
    generator = random.Random(setting)  # noqa: S311
    for _ in range(4):
        assert check(tmp_path, tokenizer_of(with_bytes(generator), setting), generator)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [("unigram", "metaspace"), ("unigram", "words"), ("wordpiece", "bert"), ("wordlevel", "white")],
)
def test_the_usual_families_are_native(tmp_path: Path, kind: str, setting: str) -> None:
    generator = random.Random(kind)  # noqa: S311
    assert check(tmp_path, tokenizer_of(MODELS[kind](generator), setting), generator)


@pytest.mark.parametrize("setting", ["marked", "replaced", "metaspace", "first", "never"])
@pytest.mark.parametrize(
    ("content", "flags"),
    [
        ("b", {"lstrip": True, "rstrip": True}),
        ("b", {"single_word": True}),
        (f"{BAR}x", {}),
        ("a b", {"lstrip": True}),
    ],
)
def test_normalized_tokens_tell_markers_from_blanks(
    tmp_path: Path, setting: str, content: str, flags: dict[str, bool]
) -> None:
    vocab = {token: i for i, token in enumerate(["<unk>", *f"{BAR}abx"])}
    model = {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "<unk>"}
    data = tokenizer_of(model, setting)
    token = added(content, len(vocab), special=False, normalized=True, **flags)
    file = write_json(tmp_path, {**data, "added_tokens": [token]})
    payload = compile_payload(load_source(file))
    cases = ["".join(t) for n in range(1, 6) for t in product(f" {BAR}abx", repeat=n)]
    library = Tokenizer.from_file(str(file)).encode_batch(cases, add_special_tokens=False)
    right = [(found.ids, found.offsets) for found in library]
    for way in ways((1, 2)):
        made = make_model(payload, way)
        alone, _ = run_batch(made, cases, way.threads)
        ids, offsets, flat = made.encode_spans(cases, way.threads, 32, False, 0, 0, True)
        assert ids.tolist() == alone.tolist()
        spans = list(map(tuple, flat.reshape(-1, 2).tolist()))
        rows = [(ids[a:b].tolist(), spans[a:b]) for a, b in pairwise(offsets.tolist())]
        wrong = [n for n, row in enumerate(rows) if row != right[n]]
        assert not wrong, (way, cases[wrong[0]], rows[wrong[0]], right[wrong[0]])


@pytest.mark.parametrize("setting", ["marked", "replaced"])
def test_tokens_with_a_blank_beside_those_with_a_marker(tmp_path: Path, setting: str) -> None:
    words = ["<unk>", "a", "b", " ", "\u2581", "\u2581a", " a", "ab", "\u2581ab", "a ", "  "]
    merges = [" |a", " | ", "a|b", "\u2581|a", "\u2581|ab", "a| ", "\u2581a|b"]
    model = {
        "type": "BPE", "unk_token": "<unk>", "vocab": {word: i for i, word in enumerate(words)},
        "merges": [merge.split("|") for merge in merges],
    }  # fmt: skip
    assert check(tmp_path, tokenizer_of(model, setting), random.Random(7))  # noqa: S311
