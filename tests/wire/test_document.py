"""Bodies as Python objects are what Python's json makes of them, and no thread holds others up."""

from __future__ import annotations

import json
import math
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import wire as reference
from tests.wire.test_wire import ANY, TEXT, bodies, damaged

from tokenmill import _core

MESSAGES = bodies({"messages": ANY, "tools": ANY, "model": TEXT})


def has_lone_surrogate(value: Any) -> bool:
    return any(0xD800 <= ord(c) < 0xE000 for c in json.dumps(value, ensure_ascii=False))


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, their types and NaN included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def check(body: bytes) -> None:
    expected = reference.read_object(body)
    found, fault = _core.read_document(body)
    if expected is None or has_lone_surrogate(expected):
        assert found is None
        assert fault is not None
        assert 0 <= fault[0] <= len(body)
    else:
        assert fault is None
        assert same(found, expected), body


@settings(max_examples=400)
@given(MESSAGES, st.integers(0, 2**32))
def test_a_body_reads_as_python_reads_it(body: bytes, seed: int) -> None:
    check(body)
    check(damaged(body, seed))


@pytest.mark.parametrize(
    "number",
    ["0", "-0", "-1", "123456789012345678", "-123456789012345678", "1234567890123456789",
     "-99999999999999999999999", "1.5", "-0.0", "1e5", "1E-5", "2.5e+300", "1e999", "-1e999", "NaN",
     "Infinity", "-Infinity"],
)  # fmt: skip
def test_numbers_have_the_type_and_value_of_python(number: str) -> None:
    check(b'{"a": %s , "b":[%s]}' % (number.encode(), number.encode()))


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 40_000, 300_000])
@pytest.mark.parametrize(
    "text", ["a", "\u00e9b", "\u4f60c", "\U0001f600d", 'q"\n', "\u00ff", "\u0100", "\uffff"]
)
def test_texts_of_every_width_and_length_are_whole(text: str, size: int) -> None:
    whole = (text * size)[:size]
    for ascii_only in (True, False):
        body = json.dumps({whole[:50]: [whole, {"b": whole}]}, ensure_ascii=ascii_only).encode()
        found, fault = _core.read_document(body)
        assert fault is None
        assert found == {whole[:50]: [whole, {"b": whole}]}


def test_of_a_member_that_comes_twice_the_last_counts() -> None:
    check(b'{"a": [1], "b": 2, "\\u0061": {"c": []}}')


def test_values_are_bounded() -> None:
    """Each takes tens of bytes: a body of many empty arrays would take all memory there is."""
    most = 1 << 22
    body = b'{"a":[' + b"[]," * (most - 4) + b"[]]}"
    found, fault = _core.read_document(body)
    assert fault is None
    assert found is not None
    found, fault = _core.read_document(body[:-2] + b",1]}")
    assert fault is not None
    assert "4194304 values" in fault[1]


def test_many_values_on_a_thread_do_not_stop_other_threads() -> None:
    """The GIL is given away between them: another thread counts on meanwhile."""
    body = b'{"a":[' + b"1.5," * 500_000 + b"2]}"
    done = threading.Event()

    def read() -> None:
        assert _core.read_document(body)[1] is None
        done.set()

    thread = threading.Thread(target=read)
    thread.start()
    counted = 0
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 10


@pytest.mark.parametrize(
    ("body", "position", "what"),
    [
        (b"", 0, "JSON object"),
        (b"[1]", 0, "JSON object"),
        (b'{"a": \xff}', 6, "UTF-8"),
        (b'{"a": 1', 7, "valid JSON"),
        (b'{"a": "b\\ud800"}', 8, "surrogate"),
        (b'{"a": ' + b"9" * 5000 + b"}", 6, "too many digits"),
        (b'{"a":' * 2000, 5120, "1024 levels"),
    ],
)
def test_a_fault_says_where_and_what(body: bytes, position: int, what: str) -> None:
    found, fault = _core.read_document(body)
    assert found is None
    assert fault is not None
    assert fault[0] == position
    assert what in fault[1]
