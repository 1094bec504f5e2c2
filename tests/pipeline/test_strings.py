"""Strings of every width: the ids of their UTF-8, the same errors, and nothing left in them."""

from __future__ import annotations

import random
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.models import Way, assert_same, make_model, run_batch, ways

from tokenmill import InvalidUtf8, Tokenizer, _core

if TYPE_CHECKING:
    from tests.models import Engine

# Characters on both sides of every border: of ASCII, of two, three and four bytes, of surrogates.
POOLS = {
    "ascii": [*map(chr, range(32, 127))],
    "latin-1": [*map(chr, range(32, 256))],
    "mostly ascii": [*"the quick brown fox " * 8, "\u2019"],
    "two bytes": [*"ab ", "\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff"],
    "three bytes": [*map(chr, range(0x4E00, 0x4F00))],
    "four bytes": [*"ab ", "\x7f", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff"],
    "an emoji": [*"the quick brown fox " * 8, "\U0001f600"],
}
SIZES = [*range(70), 127, 128, 129, 1000, 21845, 21846, 70000]
TARGETS = _core.targets()


class Subclass(str):
    __slots__ = ()


def text_of(pool: list[str], size: int, seed: int = 1) -> str:
    random_one = random.Random(size * 1000 + seed)  # noqa: S311
    return "".join(random_one.choices(pool, k=size))


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS.keys())
def test_strings_of_every_size_equal_their_bytes(small_payload: bytes, pool: list[str]) -> None:
    texts = [text_of(pool, size) for size in SIZES]
    texts += [Subclass(text) for text in texts[:20]]
    encoded = [text.encode() for text in texts]
    expected = run_batch(make_model(small_payload, Way("scalar")), encoded)
    for way in ways((1, 2, 16)):
        got = run_batch(make_model(small_payload, way), texts, way.threads)
        assert_same(got, expected, encoded, way)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS.keys())
def test_a_lone_surrogate_is_found_at_every_place(
    small_payload: bytes, target: str, pool: list[str]
) -> None:
    model = make_model(small_payload, Way(target))
    for size in (1, 2, 15, 16, 17, 31, 32, 33, 64, 97):
        for place in {0, size // 2, size - 1, random.Random(size).randrange(size)}:  # noqa: S311
            front, back = text_of(pool, place), text_of(pool, size - place - 1, 2)
            for surrogate in ("\ud800", "\udbff", "\udc00", "\udfff"):
                text = front + surrogate + back
                with pytest.raises(InvalidUtf8, match=f"character {place} is") as caught:
                    model.encode(text)
                assert caught.value.offset == len(front.encode())
                replaced = model.encode(text, False, 0, 1)
                assert np.array_equal(replaced, model.encode(front + "\ufffd" + back))


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS.keys())
@pytest.mark.parametrize("characters", [False, True])
def test_spans_of_strings_equal_those_of_bytes(
    model: Engine, pool: list[str], characters: bool
) -> None:
    texts = [text_of(pool, size) for size in SIZES]
    of_bytes = model.encode_spans([text.encode() for text in texts], 1, 32, False, 0, 0, characters)
    of_strings = model.encode_spans(texts, 2, 32, False, 0, 0, characters)
    pairs: list[tuple[Any, Any]] = list(zip(of_strings, of_bytes, strict=True))
    assert all(np.array_equal(got, expected) for got, expected in pairs)


@pytest.mark.parametrize("threads", [1, 2])
def test_no_copy_stays_in_a_string(model: Engine, threads: int) -> None:
    texts = [text_of(pool, size) for pool in POOLS.values() for size in (10, 3000, 70000)]
    before = [(sys.getsizeof(text), sys.getrefcount(text)) for text in texts]
    run_batch(model, texts, threads)
    assert all(len(model.encode(text)) for text in texts)
    assert [(sys.getsizeof(text), sys.getrefcount(text)) for text in texts] == before


def test_references_are_returned_after_an_error(model: Engine) -> None:
    good = "good text " * 3
    texts: list[Any] = [good, bytearray(b"held"), 7]
    before = sys.getrefcount(good)
    with pytest.raises(TypeError):
        run_batch(model, texts)
    assert sys.getrefcount(good) == before
    texts[1].append(1)  # not held any more


def test_a_list_may_change_while_it_is_encoded(model: Engine) -> None:
    def fresh() -> list[str]:
        return [f"{i} the quick brown fox \u2019" * 20 for i in range(2000)]

    texts, expected = fresh(), run_batch(model, fresh())
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            texts[:] = []
            texts.extend(fresh())

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            ids, offsets = run_batch(model, texts, 2)
            if len(offsets) == len(expected[1]):
                assert np.array_equal(ids, expected[0])
    finally:
        stop.set()
        thread.join()


class ChangesItsList:
    """A text whose buffer is asked for changes the list that it is in, where Python allows it."""

    def __init__(self, texts: list[Any]) -> None:
        self.texts = texts

    def __buffer__(self, _flags: int) -> memoryview:
        self.texts.clear()
        return memoryview(b"the quick")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have no __buffer__ before 3.12")
def test_a_buffer_that_changes_the_list_does_no_harm(model: Engine) -> None:
    texts: list[Any] = []
    texts += ["a" * 50, ChangesItsList(texts), "b" * 50]
    got = run_batch(model, texts)
    assert_same(got, run_batch(model, [b"a" * 50, b"the quick", b"b" * 50]), [], "changed")


def test_a_long_text_equals_its_parts(small: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the quick brown fox and the \u2019 others. " * 40_000
    expected = small.encode_batch([text], threads=1)[0]
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("TOKENMILL_THREADS", threads)
        assert np.array_equal(small.encode(text), expected)
        assert np.array_equal(small.encode(text.encode()), expected)
