"""Offsets equal those of the library, for every kind of tokenizer, target and thread count."""

from __future__ import annotations

import warnings
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from tests.models import on_target
from tests.offsets.tokenizers_of_every_kind import KINDS, texts

from tokenmill import Tokenizer, _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill import TokenBatch

WAYS = [(target, threads) for target in _core.targets() for threads in (1, 2)]


@cache
def library(kind: str) -> Any:  # the library has no types
    return KINDS[kind]()


@lru_cache(len(_core.targets()))  # one kind at a time: their tables take a hundred megabytes
def ours(kind: str, target: str) -> Tokenizer:
    with on_target(target), warnings.catch_warnings():
        warnings.simplefilter("error")  # none of them may go through the library
        return Tokenizer.load(library(kind))


def in_bytes(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(len(text[:begin].encode()), len(text[:end].encode())) for begin, end in spans]


def check(kind: str, batch: TokenBatch, documents: list[str], unit: str, special: bool) -> None:
    assert batch.spans is not None
    encodings = library(kind).encode_batch(documents, add_special_tokens=special)
    for row, (text, expected) in enumerate(zip(documents, encodings, strict=True)):
        where = slice(batch.offsets[row], batch.offsets[row + 1])
        assert batch.ids[where].tolist() == expected.ids, (kind, text[:200])
        spans = expected.offsets if unit == "char" else in_bytes(text, expected.offsets)
        got = list(map(tuple, batch.spans[where].tolist()))
        assert got == spans, (kind, unit, text[:200], expected.tokens[:50])


@pytest.mark.parametrize("unit", ["char", "byte"])
@pytest.mark.parametrize("kind", KINDS)
def test_small_texts(kind: str, unit: Literal["char", "byte"]) -> None:
    documents = ["", " ", "  ", *texts(len(kind), 60)]
    for special in (False, True):
        for target, threads in WAYS:
            batch = ours(kind, target).encode_batch(
                documents, offsets=unit, threads=threads, add_special_tokens=special
            )
            if (target, threads) == WAYS[0]:
                first = batch
                check(kind, batch, documents, unit, special)
            assert batch == first, (target, threads)


@pytest.mark.parametrize("kind", KINDS)
def test_text_that_is_cut_over_threads(kind: str) -> None:
    document = " ".join(texts(7, 400) * 3)
    document *= 1 + (1 << 20) // len(document.encode())
    documents = ["short", document, "\u4e2d the end"]
    tokenizer = ours(kind, WAYS[-1][0])
    batch = tokenizer.encode_batch(documents, offsets="byte", threads=1)
    assert tokenizer.encode_batch(documents, offsets="byte", threads=2) == batch
    head = document[:30000]
    check(kind, tokenizer.encode_batch([head], offsets="char"), [head], "char", special=False)


@pytest.mark.parametrize("kind", ["bytes", "bytes, trimmed", "characters, bytes", "unigram"])
def test_words_too_long_for_the_batch(kind: str) -> None:
    documents = ["a the" + "quick" * 9000 + " dog", "\u4e2d\u6587" * 7000 + "\u00e9" * 6000]
    for target, _ in WAYS:
        batch = ours(kind, target).encode_batch(documents, offsets="char")
        check(kind, batch, documents, "char", special=False)


def test_ids_alone_are_the_same() -> None:
    documents = texts(3, 100)
    tokenizer = ours("bytes, rewritten", WAYS[0][0])
    with_spans = tokenizer.encode_batch(documents, offsets="char", dtype="uint16")
    assert with_spans.ids.dtype == np.uint16
    alone = tokenizer.encode_batch(documents, dtype="uint16")
    assert np.array_equal(alone.ids, with_spans.ids)
    assert alone.spans is None
    assert alone != with_spans
