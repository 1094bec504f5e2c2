"""The words that ids are of equal those of the library, for every kind of tokenizer and target."""

from __future__ import annotations

from typing import Any

import pytest
from tests.offsets.test_against_library import WAYS, library, ours
from tests.offsets.tokenizers_of_every_kind import KINDS, texts


def words(kind: str, target: str, threads: int, documents: list[str]) -> list[list[Any]]:
    ids, offsets, spans, numbers = ours(kind, target)._model.encode_words(documents, threads, 0)
    rows = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    pairs = spans.reshape(-1, 2)
    return [
        [ids[a:b].tolist(), list(map(tuple, pairs[a:b].tolist())), numbers[a:b].tolist()]
        for a, b in rows
    ]


def expected(kind: str, documents: list[str]) -> list[list[Any]]:
    found = library(kind).encode_batch(documents, add_special_tokens=False)
    return [[e.ids, e.offsets, e.word_ids] for e in found]


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_numbered_as_by_the_library(kind: str) -> None:
    documents = ["", " ", "  ", "\n a  b", *texts(len(kind) + 1, 60)]
    right = expected(kind, documents)
    for target, threads in WAYS:
        assert words(kind, target, threads, documents) == right, (target, threads)


@pytest.mark.parametrize("kind", ["bytes", "characters, bytes", "unigram"])
def test_words_that_are_too_long_for_the_batch(kind: str) -> None:
    documents = ["a the" + "quick" * 9000 + " dog", "\u4e2d\u6587" * 7000 + "\u00e9" * 6000, "x"]
    assert words(kind, WAYS[-1][0], 1, documents) == expected(kind, documents)


def test_a_document_is_numbered_over_all_threads() -> None:
    document = " ".join(texts(7, 400) * 3)
    documents = ["short", document * (1 + (1 << 20) // len(document.encode())), "the end"]
    target = WAYS[-1][0]
    assert words("bytes", target, 2, documents) == words("bytes", target, 1, documents)
