"""Bytes that are not UTF-8: found where Python finds them, replaced as Python replaces them."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models import Way, compile_payload, make_model, ranked_model, spec_of
from tests.split.patterns import CHAINS

from tokenmill import InvalidUtf8, _core

if TYPE_CHECKING:
    from tests.models import Engine

STRICT, REPLACE = 0, 1
# Every byte at which a rule of UTF-8 begins or ends.
EDGES = bytes.fromhex("00417f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5f7f8ff")
FAULTS = [b"\x80", b"\xc3", b"\xe4\xb8", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80"]


@pytest.fixture(scope="module", params=_core.targets())
def bytes_model(request: pytest.FixtureRequest) -> Engine:
    """Ids are bytes, so that decoding shows exactly what was encoded."""
    spec = spec_of(ranked_model([]), CHAINS["gpt2"])
    return make_model(compile_payload(spec), Way(request.param))


def replaced(model: Engine, data: bytes) -> bytes:
    return bytes(model.decode(model.encode(data, False, 0, REPLACE)))


def first_fault(data: bytes) -> int | None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def assert_as_python(model: Engine, data: bytes) -> None:
    """Strict and replace, both compared with `bytes.decode`."""
    fault = first_fault(data)
    if fault is None:
        assert model.decode(model.encode(data, False, 0, STRICT)) == data
    else:
        with pytest.raises(InvalidUtf8) as caught:
            model.encode(data, False, 0, STRICT)
        assert caught.value.offset == fault, data
    assert replaced(model, data) == data.decode(errors="replace").encode(), data


def test_all_strings_of_one_and_two_bytes(bytes_model: Engine) -> None:
    lines = [bytes(pair) for n in (1, 2) for pair in product(range(256), repeat=n)]
    text = b"\n".join(lines)
    assert replaced(bytes_model, text) == text.decode(errors="replace").encode()
    for line in lines[:: 1 if bytes_model.target != "scalar" else 7]:
        assert_as_python(bytes_model, line)


def test_all_strings_of_three_bytes(bytes_model: Engine) -> None:
    """Repair knows no targets, so one of them sees all, the others a part."""
    pairs = [bytes(pair) for pair in product(range(256), repeat=2)]
    step = 1 if bytes_model.target == _core.targets()[-1] else 17
    for first in (0x80, 0x9F, 0xBF, *range(0xC0, 0x100, step)):
        text = b"\n".join([bytes([first]) + pair for pair in pairs])
        assert replaced(bytes_model, text) == text.decode(errors="replace").encode(), first


def test_strings_of_edge_bytes(bytes_model: Engine) -> None:
    lines = [bytes(some) for some in product(EDGES, repeat=3)]
    for line in lines[::3]:
        assert_as_python(bytes_model, line)
    text = b"\n".join(bytes(some) for some in product(EDGES[3:], repeat=4))
    assert replaced(bytes_model, text) == text.decode(errors="replace").encode()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_every_place_of_a_block(bytes_model: Engine, fault: bytes) -> None:
    for fill in (b"x", "\u4e2d".encode(), "\U0001f600".encode()):
        for size in range(0, 131, len(fill)):
            for tail in (b"", b"y", fill * 20):
                assert_as_python(bytes_model, fill * (size // len(fill)) + fault + tail)


def test_random_bytes(bytes_model: Engine) -> None:
    choose = random.Random(9)  # noqa: S311
    for _ in range(3000):
        size = choose.randrange(200)
        kind = choose.choice((range(256), EDGES, range(0x80, 0x100)))
        assert_as_python(bytes_model, bytes(choose.choices(kind, k=size)))


def test_a_large_text_with_few_faults(bytes_model: Engine) -> None:
    choose = random.Random(10)  # noqa: S311
    data = bytearray("The \u4e2d\u6587 text \U0001f600, ".encode() * 60_000)
    for _ in range(20):
        data[choose.randrange(len(data))] = choose.choice(EDGES)
    text = bytes(data)
    expected = text.decode(errors="replace").encode()
    for threads in (1, 2, 3):
        ids, _ = bytes_model.encode_batch([text], threads, 32, False, 0, REPLACE)
        assert bytes_model.decode(ids) == expected


@settings(max_examples=300)
@given(data=st.binary(max_size=300))
def test_any_bytes(bytes_model: Engine, data: bytes) -> None:
    assert_as_python(bytes_model, data)


@pytest.mark.parametrize(
    "text",
    ["\ud800", "a\udfffb", "\U0001f600\udc00" * 40, "x" * 70 + "\ud83d"],
    ids=["alone", "between letters", "many after emoji", "at the end"],
)
def test_lone_surrogates_are_refused_or_replaced(bytes_model: Engine, text: str) -> None:
    with pytest.raises(InvalidUtf8, match="surrogate") as caught:
        bytes_model.encode(text, False, 0, STRICT)
    before = text[: next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")]
    assert caught.value.offset == len(before.encode())
    ids = bytes_model.encode(text, False, 0, REPLACE)
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert bytes_model.decode(ids) == clean.encode()
    assert ids.dtype == np.uint32
