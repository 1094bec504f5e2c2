"""Texts of every kind give the ids of their UTF-8 bytes."""

from __future__ import annotations

import array
import mmap
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models import ENCODE, assert_same, run_batch
from tests.pipeline.conftest import HAN
from tests.strategies import EXAMPLES, TEXTS

from tokenmill import InvalidUtf8

if TYPE_CHECKING:
    from pathlib import Path

    from tests.models import Engine


SIZES = (0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 8191, 8192, 8193)
KINDS = {
    "ascii": "a 1!",
    "latin-1": "\u00e9 x\u00ff",
    "ucs-2": "\u4e2d x\u0416",
    "ucs-4": "\U0001f600 a\u00e9",
}


def of_size(pattern: str, size: int) -> str:
    return (pattern * size)[:size]


@pytest.mark.parametrize("kind", KINDS)
def test_strings_of_every_kind_equal_their_bytes(model: Engine, kind: str) -> None:
    texts = [of_size(KINDS[kind], size) for size in SIZES]
    expected = run_batch(model, [text.encode() for text in texts])
    assert_same(run_batch(model, texts), expected, texts, kind)
    assert_same(run_batch(model, texts, 3), expected, texts, kind)
    for i, text in enumerate(texts):
        one = model.encode(text, False, ENCODE, 0)
        assert one.tolist() == expected[0][expected[1][i] : expected[1][i + 1]].tolist()


@settings(max_examples=100)
@given(texts=st.lists(TEXTS, max_size=20))
def test_random_strings_equal_their_bytes(model: Engine, texts: list[str]) -> None:
    expected = run_batch(model, [text.encode() for text in texts])
    assert_same(run_batch(model, texts), expected, texts, "str")


def test_buffers_of_every_kind_equal_their_bytes(model: Engine, tmp_path: Path) -> None:
    data = ("".join(EXAMPLES) + HAN * 30).encode()
    (tmp_path / "text").write_bytes(data)
    expected = model.encode(data, False, ENCODE, 0).tolist()
    padded = bytearray(b"xxx" + data + b"yyy")
    with (tmp_path / "text").open("rb") as file:
        views: list[Any] = [
            bytearray(data),
            memoryview(data),
            memoryview(padded)[3 : 3 + len(data)],
            array.array("B", data),
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ),
        ]
        for view in views:
            assert model.encode(view, False, ENCODE, 0).tolist() == expected
            assert run_batch(model, [view], 2)[0].tolist() == expected


def test_a_buffer_is_released_after_the_call(model: Engine) -> None:
    data = bytearray(b"hello world")
    model.encode(data, False, ENCODE, 0)
    run_batch(model, [data, data])
    data.extend(b"!" * 10_000)  # BufferError if anybody still held it


def test_a_buffer_is_released_after_an_error(model: Engine) -> None:
    data = bytearray(b"hello \xff")
    with pytest.raises(InvalidUtf8):
        run_batch(model, [b"x", data])
    with pytest.raises(TypeError, match="document 1"):
        run_batch(model, [data, 7])
    data.extend(b"!" * 10_000)


@pytest.mark.parametrize("text", [7, None, ["a"], memoryview(b"abcdef")[::2]])
def test_what_is_no_text_is_named(model: Engine, text: object) -> None:
    with pytest.raises(TypeError, match="document 2: expected str or bytes-like"):
        run_batch(model, ["a", "b", text])


ROWS = ["", "a", *EXAMPLES, HAN, "x" * 5000, "short", "twelve bytes", "thirteen byte"]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()],
    ids=str,
)
def test_arrow_arrays_equal_lists(model: Engine, kind: Any) -> None:
    expected = run_batch(model, ROWS)
    whole = pa.array(ROWS, kind)
    for threads in (1, 2):
        assert_same(run_batch(model, whole, threads), expected, ROWS, kind)
    chunks = pa.chunked_array([whole[:3], whole[3:3], whole[3:]])
    assert_same(run_batch(model, chunks), expected, ROWS, kind)
    for begin, end in ((0, 0), (1, 1), (2, 9), (len(ROWS), len(ROWS)), (0, len(ROWS) - 1)):
        part = ROWS[begin:end]
        assert_same(run_batch(model, whole[begin:end]), run_batch(model, part), part, kind)


def test_an_empty_arrow_array_gives_an_empty_batch(model: Engine) -> None:
    for empty in (pa.array([], pa.string()), pa.chunked_array([], pa.string())):
        ids, offsets = run_batch(model, empty)
        assert ids.tolist() == []
        assert offsets.tolist() == [0]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_nulls_are_refused_with_their_number(model: Engine, kind: Any) -> None:
    rows = pa.array(["a", "b", None, "c"], kind)
    with pytest.raises(ValueError, match="document 2: expected text, got null"):
        run_batch(model, rows)
    with pytest.raises(ValueError, match="document 5: expected text, got null"):
        run_batch(model, pa.chunked_array([pa.array(["x", "y", "z"], kind), rows]))
    assert len(run_batch(model, rows[3:])[1]) == 2, "a null outside of the slice does not count"


@pytest.mark.parametrize(
    "rows",
    [
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([1, 2]),
        pa.array([["a"], ["b"]]),
        pa.nulls(3),
        pa.record_batch({"text": ["a"]}),
        pa.table({"text": ["a"]}),
        pa.chunked_array([pa.array(["a"]).dictionary_encode()]),
    ],
    ids=lambda rows: str(getattr(rows, "type", type(rows).__name__)),
)
def test_arrow_arrays_of_other_types_are_refused(model: Engine, rows: Any) -> None:
    with pytest.raises(TypeError, match="expected an Arrow array of strings"):
        run_batch(model, rows)


def test_a_bad_row_of_an_arrow_array_is_reported_with_its_number(model: Engine) -> None:
    rows = pa.chunked_array([pa.array([b"a", b"b"]), pa.array([b"c", b"d\xff"])])
    with pytest.raises(InvalidUtf8) as caught:
        run_batch(model, rows)
    assert (caught.value.document, caught.value.offset) == (3, 1)
