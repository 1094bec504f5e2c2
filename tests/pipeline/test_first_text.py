"""The first texts of a worker: small tables, and the change to large ones."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.models import ENCODE, TINY, Way, compile_payload, make_model, ways
from tests.pipeline.conftest import HAN, WORDS, small_spec

if TYPE_CHECKING:
    from tests.models import Engine

ENOUGH = 512 << 10  # bytes of text after which a worker takes large tables
LARGE = 30 << 20  # their size, at least
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Short texts of more than ENOUGH bytes, with words of every length and some of them twice."""
    choose = random.Random(5)  # noqa: S311
    spelled = ["".join(choose.choices(LETTERS, k=choose.randint(1, 60))) for _ in range(4_000)]
    words = [*WORDS, *spelled, HAN, "\0", "x\0"]
    made = [" ".join(choose.choices(words, k=12)) for _ in range(2_500)]
    assert sum(len(text.encode()) for text in made) > ENOUGH * 5 // 4
    return made


def encode_all(model: Engine, texts: list[str]) -> list[list[int]]:
    return [model.encode(text, False, ENCODE, 0).tolist() for text in texts]


@pytest.mark.parametrize("chain", ["llama3", "gpt2", "o200k"])
def test_ids_are_the_same_before_and_after_tables_grow(chain: str, texts: list[str]) -> None:
    payload = compile_payload(small_spec(chain))
    expected = encode_all(make_model(payload, Way("scalar", shrink=TINY)), texts)
    for way in ways(threads=[1]):
        model = make_model(payload, way)
        assert encode_all(model, texts) == expected, way
        assert encode_all(model, texts) == expected, way


def test_spans_are_the_same_before_and_after_tables_grow(
    small_payload: bytes, texts: list[str]
) -> None:
    """A batch that makes the tables grow in the middle of it."""
    half = [text * 2 for text in texts[: len(texts) // 4]]
    expected = make_model(small_payload, Way("scalar", shrink=TINY)).encode_spans(half, 1, 32)
    model = make_model(small_payload, Way("scalar"))
    for _ in range(4):
        found = model.encode_spans(half, 1, 32)
        assert [part.tolist() for part in found] == [part.tolist() for part in expected]
    assert model.memory()["tables"] > LARGE


def test_a_short_text_makes_no_large_tables(small_payload: bytes, texts: list[str]) -> None:
    model = make_model(small_payload, Way("scalar"))
    model.encode(texts[0], False, ENCODE, 0)
    assert 0 < model.memory()["tables"] < 1 << 20
    encode_all(model, texts)
    assert model.memory()["tables"] > LARGE
    assert model.memory()["workers"] == 1


@pytest.mark.parametrize("as_one", [True, False])
def test_a_call_with_much_text_takes_large_tables(
    small_payload: bytes, texts: list[str], as_one: bool
) -> None:
    model = make_model(small_payload, Way("scalar"))
    given = [" ".join(texts)] if as_one else texts
    model.encode_batch(given, 1, 32)
    assert model.memory()["tables"] > LARGE
