"""Bodies of requests and answers are what Python's json makes of them, damaged ones included."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import wire as reference

from tokenmill import _core

TEXT = st.text(st.characters(exclude_categories=()), max_size=80)  # surrogates too
SCALAR = st.none() | st.booleans() | st.integers(-5, 2**33) | st.floats() | TEXT
ANY = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner))
IDS = st.lists(st.integers(0, 2**32 - 1), max_size=20)


def bodies(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[bytes]:
    """Objects with some of the fields, mostly of the right type, among others; written freely."""
    some = st.fixed_dictionaries({}, optional={k: v | ANY for k, v in fields.items()})
    made = st.builds(lambda a, b: {**a, **b}, st.dictionaries(TEXT, ANY, max_size=3), some)
    return st.builds(
        lambda value, ascii_only, indent: json.dumps(
            value, ensure_ascii=ascii_only, indent=indent
        ).encode(errors="surrogatepass"),
        made, st.booleans(), st.sampled_from([None, 1]),
    )  # fmt: skip


TOKENIZE = bodies({
    "model": TEXT, "prompt": TEXT | st.lists(TEXT, max_size=4), "messages": ANY,
    "add_special_tokens": st.booleans(), "return_token_strs": st.booleans(),
})  # fmt: skip
DETOKENIZE = bodies({
    "model": TEXT, "tokens": IDS | st.lists(IDS, max_size=4), "skip_special_tokens": st.booleans(),
})  # fmt: skip


def damaged(body: bytes, seed: int) -> bytes:
    generator = random.Random(seed)  # noqa: S311
    made = bytearray(body)
    for _ in range(generator.randrange(1, 4)):
        at = generator.randrange(len(made) + 1)
        kind = generator.randrange(4)
        if kind == 0:
            made[at:at] = generator.choice([b'"', b"\\", b"[", b"{", b",", b"\xff", b"\n", b"0"])
        elif kind == 1:
            del made[at : at + generator.randrange(1, 5)]
        elif kind == 2 and made:
            made[at % len(made)] = generator.randrange(256)
        else:
            made[at:at] = made[: generator.randrange(20)]
    return bytes(made)


def check_tokenize(body: bytes) -> None:
    expected = reference.read_tokenize(body)
    found = _core.read_tokenize(body)
    assert (found.fault is None) == (expected is not None), (body, found.fault)
    if expected is not None:
        assert {name: getattr(found, name) for name in expected} == expected


def check_detokenize(body: bytes) -> None:
    expected = reference.read_detokenize(body)
    found = _core.read_detokenize(body)
    assert (found.fault is None) == (expected is not None), (body, found.fault)
    if expected is not None:
        values: dict[str, Any] = {name: getattr(found, name) for name in expected}
        values.update(ids=found.ids.tolist(), ends=found.ends.tolist())
        assert values == expected


@settings(max_examples=300)
@given(TOKENIZE, st.integers(0, 2**32))
def test_a_request_for_ids_reads_as_python_reads_it(body: bytes, seed: int) -> None:
    check_tokenize(body)
    check_tokenize(damaged(body, seed))


@settings(max_examples=300)
@given(DETOKENIZE, st.integers(0, 2**32))
def test_a_request_for_text_reads_as_python_reads_it(body: bytes, seed: int) -> None:
    check_detokenize(body)
    check_detokenize(damaged(body, seed))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 40_000, 300_000])
def test_long_prompts_with_and_without_escapes_are_whole(size: int) -> None:
    for text in ("a" * size, ('line\n"q" \u00e9\U0001f600' * size)[:size]):
        for ascii_only in (True, False):
            body = json.dumps({"prompt": text}, ensure_ascii=ascii_only).encode()
            assert _core.read_tokenize(body).prompt == text.encode()


def test_of_a_member_that_comes_twice_the_last_counts() -> None:
    assert _core.read_tokenize(b'{"prompt": "a", "prompt": "b"}').prompt == b"b"
    assert _core.read_tokenize(b'{"prompt": 1, "pr\\u006fmpt": "b"}').prompt == b"b"
    assert _core.read_tokenize(b'{"prompt": "a", "prompt": null}').fault is not None


@pytest.mark.parametrize(
    ("body", "position", "member"),
    [
        (b"", 0, ""),
        (b"[1]", 0, ""),
        (b'{"a": \xff}', 6, ""),
        (b'{"prompt": 5}', 11, "prompt"),
        (b'{"prompt": ["a", 5]}', 17, "prompt"),
        (b'{"prompt": "ab\\ud800"}', 14, "prompt"),
        (b'{"model": 5}', 10, "model"),
        (b'{"add_special_tokens": "true"}', 23, "add_special_tokens"),
        (b"[" * 5000, 1024, ""),
    ],
)
def test_a_fault_names_its_byte_and_member(body: bytes, position: int, member: str) -> None:
    fault = _core.read_tokenize(body).fault
    assert fault is not None
    assert fault[:2] == (position, member)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40))
def test_ids_are_written_as_python_writes_them(ids: list[int]) -> None:
    written = _core.write_answer(np.array(ids, dtype=np.uint32))
    assert written == json.dumps(ids, separators=(",", ":")).encode()


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=6), max_size=20))
def test_rows_are_written_as_python_writes_them(rows: list[list[int]]) -> None:
    ids = np.array([token for row in rows for token in row], dtype=np.uint32)
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    assert _core.write_answer((ids, ends)) == json.dumps(rows, separators=(",", ":")).encode()


@pytest.mark.parametrize("ends", [[], [0, 4], [-1, 2], [0, 2, 1]])
def test_ends_of_rows_that_are_not_those_of_the_ids_are_refused(ends: list[int]) -> None:
    with pytest.raises(ValueError, match="ends of rows"):
        _core.write_answer((np.arange(3, dtype=np.uint32), np.array(ends, dtype=np.int64)))
    with pytest.raises(TypeError, match="ends of their rows"):
        _core.write_answer((np.arange(3, dtype=np.uint32),))


def test_ids_of_every_length_are_written_exactly() -> None:
    edges = [10**n + d for n in range(10) for d in (-1, 0, 1)] + [2**32 - 1]
    ids = np.array(edges * 3000, dtype=np.uint32)  # long enough to release the GIL
    assert json.loads(_core.write_answer(ids)) == ids.tolist()


@given(st.text(), st.lists(st.text()))
def test_texts_are_written_as_python_writes_them(text: str, texts: list[str]) -> None:
    written = _core.write_answer(b'{"a":', text, b',"b":', texts, b"}")
    expected = json.dumps({"a": text, "b": texts}, ensure_ascii=False, separators=(",", ":"))
    assert written == expected.encode()


def test_rows_of_ids_are_arrays_of_arrays() -> None:
    rows = [np.array(row, dtype=np.uint32) for row in ([1, 2], [], [3])]
    assert _core.write_answer(rows) == b"[[1,2],[],[3]]"


def test_an_answer_takes_nothing_but_its_pieces() -> None:
    with pytest.raises(UnicodeEncodeError):
        _core.write_answer("\ud800")
    for wrong in (5, None, np.array([1.5])):
        with pytest.raises((TypeError, RuntimeError)):
            _core.write_answer(wrong)
