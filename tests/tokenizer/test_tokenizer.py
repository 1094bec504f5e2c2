"""Tokenizer: options, errors, results, and that nothing about it can change."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tokenmill import (
    DtypeError,
    InvalidUtf8,
    OptionError,
    OutputTooSmall,
    SpecialTokenInText,
    TextTypeError,
    Tokenizer,
    UnknownId,
)

if TYPE_CHECKING:
    from collections.abc import Callable

HELLO, WORLD, BEGIN, END = 259, 264, 265, 266


def test_encode_gives_uint32(small: Tokenizer) -> None:
    ids = small.encode("hello world")
    assert ids.dtype == np.uint32
    assert ids.tolist() == [HELLO, WORLD]


@pytest.mark.parametrize(
    "kind", [str.encode, lambda t: bytearray(t.encode()), lambda t: memoryview(t.encode())]
)
def test_encode_takes_bytes_of_any_kind(small: Tokenizer, kind: Callable[[str], Any]) -> None:
    assert small.encode(kind("hello world")).tolist() == [HELLO, WORLD]


def test_special_tokens_are_added_on_request(small: Tokenizer) -> None:
    assert small.encode("hello", add_special_tokens=True).tolist() == [BEGIN, HELLO]


def test_encode_has_every_option_by_name(small: Tokenizer) -> None:
    names = [*inspect.signature(small.encode).parameters]
    assert names[:4] == ["text", "add_special_tokens", "special_in_text", "errors"]
    assert small.encode(text="hello").tolist() == [HELLO]
    both = small.encode("hello", add_special_tokens=True, errors="strict")
    assert both.tolist() == [BEGIN, HELLO]


@pytest.mark.parametrize("options", [{"unknown": 1}, {"add_special_tokens": "yes"}])
def test_encode_refuses_wrong_options(small: Tokenizer, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"encode\(\)"):
        small.encode("hello", **options)


def test_special_in_text_is_encoded_left_or_refused(small: Tokenizer) -> None:
    assert small.encode("hello</s>").tolist() == [HELLO, END]
    assert END not in small.encode("hello</s>", special_in_text="text")
    with pytest.raises(SpecialTokenInText):
        small.encode("hello</s>", special_in_text="raise")


def test_invalid_utf8_is_refused_or_replaced(small: Tokenizer) -> None:
    with pytest.raises(InvalidUtf8) as caught:
        small.encode(b"ab\xffcd")
    assert caught.value.offset == 2
    assert small.decode(small.encode(b"ab\xffcd", errors="replace")) == "ab\ufffdcd"


def test_a_batch_has_ids_and_offsets(small: Tokenizer) -> None:
    batch = small.encode_batch(["hello", "", b"hello world"])
    assert batch.ids.tolist() == [HELLO, HELLO, WORLD]
    assert batch.offsets.tolist() == [0, 1, 1, 3]
    assert batch.offsets.dtype == np.int64


def test_a_batch_takes_any_iterable(small: Tokenizer) -> None:
    assert small.encode_batch(t for t in ("hello", "hello")).tolist() == [[HELLO], [HELLO]]


def test_a_batch_takes_arrow_arrays(small: Tokenizer) -> None:
    for kind in (pa.string(), pa.large_string(), pa.binary()):
        array = pa.array(["hello", "hello world"], kind)
        assert small.encode_batch(array).tolist() == [[HELLO], [HELLO, WORLD]]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_do_not_change_ids(small: Tokenizer, threads: int) -> None:
    texts = ["hello world " * n for n in range(50)]
    assert small.encode_batch(texts, threads=threads) == small.encode_batch(texts, threads=1)


def test_a_batch_is_uint16_on_request(small: Tokenizer) -> None:
    assert small.encode_batch(["hello"], dtype="uint16").ids.dtype == np.uint16
    assert small.encode_batch(["hello"], dtype=np.uint16).ids.dtype == np.uint16


def test_encode_into_fills_the_front(small: Tokenizer) -> None:
    out = np.zeros(5, dtype=np.uint16)
    assert small.encode_into(["hello", "hello world"], out).tolist() == [0, 1, 3]
    assert out.tolist() == [HELLO, HELLO, WORLD, 0, 0]


def test_encode_into_refuses_a_small_buffer(small: Tokenizer) -> None:
    with pytest.raises(OutputTooSmall):
        small.encode_into(["hello world"], np.zeros(1, dtype=np.uint32))


@pytest.mark.parametrize(
    "out",
    [
        [0, 0],
        np.zeros(4, dtype=np.int64),
        np.zeros((2, 2), dtype=np.uint32),
        np.zeros(8, dtype=np.uint32)[::2],
        np.frombuffer(bytes(16), dtype=np.uint32),
    ],
    ids=["list", "int64", "2-d", "gaps", "read-only"],
)
def test_encode_into_refuses_what_cannot_hold_ids(small: Tokenizer, out: Any) -> None:
    with pytest.raises(DtypeError, match=r"out: expected|dtype: expected"):
        small.encode_into(["hello"], out)


def test_count_is_the_length_of_encode(small: Tokenizer) -> None:
    text = "hello world, hello"
    assert small.count(text) == len(small.encode(text))
    assert small.count_batch([text, ""]).tolist() == [len(small.encode(text)), 0]


@pytest.mark.parametrize(("limit", "count"), [(0, 1), (2, 3), (3, 4), (4, 4), (100, 4)])
def test_count_stops_one_beyond_the_limit(small: Tokenizer, limit: int, count: int) -> None:
    text = "hello world hello world".replace(" hello", "hello")
    assert small.count(text) == 4
    assert small.count(text, limit) == count
    assert small.count_batch([text], limit).tolist() == [count]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.encode("a", special_in_text="no"), OptionError, "special_in_text: expected"),
        (lambda t: t.encode("a", special_in_text=[]), OptionError, "special_in_text: expected"),
        (lambda t: t.encode("a", errors="ignore"), OptionError, "errors: expected"),
        (lambda t: t.encode_batch("hello"), TextTypeError, "texts: expected a list of texts"),
        (lambda t: t.encode_batch(7), TextTypeError, "texts: expected a list of texts"),
        (lambda t: t.encode_batch(["a"], threads=0), OptionError, "threads: expected"),
        (lambda t: t.encode_batch(["a"], threads=True), OptionError, "threads: expected"),
        (lambda t: t.encode_batch(["a"], dtype="uint8"), DtypeError, "dtype: expected"),
        (lambda t: t.encode_batch(["a"], dtype="nonsense"), DtypeError, "dtype: expected"),
        (lambda t: t.count("a", -1), OptionError, "limit: expected"),
        (lambda t: t.decode([-1]), UnknownId, "-1"),
        (lambda t: t.decode([1 << 40]), UnknownId, str(1 << 40)),
        (lambda t: t.decode([0.5]), UnknownId, "whole numbers"),
        (lambda t: t.decode([[1, 2]]), UnknownId, "one row"),
        (lambda t: t.decode([10**6]), UnknownId, "1000000"),
        (lambda t: t.id_to_token(10**6), UnknownId, "1000000"),
        (lambda t: t.token_bytes(-1), UnknownId, "-1"),
    ],
)
def test_a_wrong_argument_is_a_typed_error(
    small: Tokenizer, call: Callable[[Tokenizer], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(small)


@pytest.mark.parametrize("text", [7, None, ["hello"], memoryview(b"hello")[::2]])
def test_what_is_no_text_is_refused(small: Tokenizer, text: Any) -> None:
    with pytest.raises(TextTypeError, match=r"^expected str or bytes-like, got") as caught:
        small.encode(text)
    assert (caught.value.document, caught.value.offset) == (None, None)
    with pytest.raises(TextTypeError, match=r"^document 1: expected str") as caught:
        small.encode_batch([b"not UTF-8: \xff", text])
    assert (caught.value.document, caught.value.offset) == (1, None)


@pytest.mark.parametrize(
    ("array", "document"),
    [
        (pa.array(["hello", None]), 1),
        (pa.array([None, "hello"], pa.string_view()), 0),
        (pa.chunked_array([["hello"], [b"x", None]], pa.large_binary()), 2),
        (pa.array([1, 2]), None),
        (pa.array([["hello"]]), None),
        (pa.array(["hello"]).dictionary_encode(), None),
        (pa.nulls(2), None),
    ],
    ids=["null", "null-view", "null-in-chunk", "numbers", "lists", "dictionary", "null-type"],
)
def test_an_arrow_array_without_texts_is_refused(
    small: Tokenizer,
    array: Any,
    document: int | None,
) -> None:
    with pytest.raises(TextTypeError, match="expected") as caught:
        small.encode_batch(array)
    assert caught.value.document == document
    assert isinstance(caught.value, TypeError)


def test_decode_undoes_encode(small: Tokenizer) -> None:
    text = "hello w\u00f6rld \U0001f600\n\t  end"
    assert small.decode(small.encode(text)) == text
    assert small.decode(small.encode(text).tolist()) == text
    assert small.decode([]) == ""
    assert small.decode_batch(small.encode_batch([text, "", "b"])) == [text, "", "b"]
    assert small.decode_batch([[HELLO], []]) == ["hello", ""]
    assert small.decode_batch([]) == []


def test_half_a_character_is_decoded_by_policy(small: Tokenizer) -> None:
    half = small.encode("\u00f6")[:1]
    assert small.decode(half) == "\ufffd"
    assert small.decode(half, errors="ignore") == ""
    with pytest.raises(UnicodeDecodeError):
        small.decode(half, errors="strict")


def test_tokens_are_written_as_in_the_vocabulary(small: Tokenizer) -> None:
    assert small.id_to_token(WORLD) == "\u0120world"
    assert small.token_bytes(WORLD) == b" world"
    assert small.token_to_id("\u0120world") == WORLD
    assert small.token_to_id(b" world") == WORLD
    assert small.token_to_id("<s>") == BEGIN
    assert small.token_to_id("no such token") is None
    assert all(small.token_to_id(small.id_to_token(i)) == i for i in range(small.vocab_size))


def test_it_says_what_it_is(small: Tokenizer) -> None:
    assert small.vocab_size == 267
    assert dict(small.special_tokens) == {"<s>": BEGIN, "</s>": END}
    assert "267 ids" in repr(small)
    assert {"mapped", "resident", "tables", "caches"} <= set(small.memory())


def test_nothing_about_it_can_be_changed(small: Tokenizer) -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        small.vocab_size = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        small.extra = 3
    with pytest.raises(TypeError):
        small.special_tokens["x"] = 1  # type: ignore[index]


def test_it_survives_pickling_and_is_its_own_copy(small: Tokenizer) -> None:
    again = pickle.loads(pickle.dumps(small))  # noqa: S301
    assert again.encode("hello world").tolist() == [HELLO, WORLD]
    assert copy.copy(small) is small
    assert copy.deepcopy(small) is small
