"""Tokenizers of every kind that has segments, and texts that are full of their added tokens."""

from __future__ import annotations

import json
import random
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from tests.conftest import small_definition
from tests.encode import test_compositions as compositions
from tests.encode import test_other_models as other_models

import tokenmill
from tokenmill import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

SPECIAL = ("encode", "text", "raise")
ERRORS = ("strict", "replace")
COMPOSED = [f"{kind} {seed}" for kind in compositions.MODELS for seed in range(3)]
FAMILIES = [f"{setting}/unigram" for setting in other_models.SETTINGS] + [
    "marked/bytes",
    "first/bytes",
    "bert/wordpiece",
    "never/bpe",
]
NAMES = ["small", "builtin", *COMPOSED, *FAMILIES]
# Words and white space around what added tokens are and what they strip.
PARTS = [
    "<s>", "</s>", "<pad>", "<unk>", "[A]", "[MASK]", "Word", "<raw>", "trail ", "a b", "1", " ",
    "  ", "\n", "word", "Words", "hello world", " he said ", "x", "e\u0301", "caf\u00e9",
    "\u4e2d\u6587", "\u2581", "\u2581x", "abc abc", ".", "\t", "\U0001f600", "\u00a0", "ABC",
]  # fmt: skip


@cache
def tokenizer_named(name: str) -> Tokenizer:
    """Make one of NAMES."""
    if name == "builtin":
        return Tokenizer.load()
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", tokenmill.ReferencePathWarning)
        path = Path(folder) / "tokenizer.json"
        path.write_text(_definition(name), "utf-8")
        return Tokenizer.load(path)


def _definition(name: str) -> str:
    if name == "small":
        return json.dumps(small_definition())
    choose = random.Random(name)  # noqa: S311
    if name in COMPOSED:
        return str(compositions.composed(choose, name.rpartition(" ")[0]).to_str())
    setting, _, kind = name.partition("/")
    makers: dict[str, Callable[[random.Random], dict[str, Any]]] = {
        **other_models.MODELS,
        "bytes": other_models.with_bytes,
    }
    return json.dumps(other_models.tokenizer_of(makers[kind](choose), setting))


def sample_texts(seed: int, count: int) -> list[str]:
    """Texts of a few parts each, many of them more than once."""
    choose = random.Random(seed)  # noqa: S311
    texts = ["".join(choose.choices(PARTS, k=choose.randrange(1, 30))) for _ in range(count)]
    return texts + choose.choices(texts, k=count)


texts = st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=6)), max_size=25).map("".join)


def outcome(encode: Callable[..., Any], *given: object, **options: object) -> object:
    """Return the ids, or the error as far as a caller sees it."""
    try:
        ids = encode(*given, **options)
    except tokenmill.TokenmillError as error:
        return type(error), str(error), getattr(error, "offset", None)
    return ids.dtype.name, ids.tolist()
