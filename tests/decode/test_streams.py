"""Streams: exact on split characters, linear in time, many at once."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.chains import BYTES, definition, ids_of
from tests.decode.test_chains import LLAMA, load
from tests.timing import check_linear

from tokenmill import OptionError, UnknownId
from tokenmill._decode.text_steps import ReplaceInText, StripText

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

EMOJI_AND_CJK = "\u4f60\u597d\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467\u3042\ud55c"


def test_a_character_comes_out_when_it_is_complete(small: Tokenizer) -> None:
    stream = small.decode_stream()
    ids = small.encode("\U0001f600a\u00e9")
    assert [stream.push(i) for i in ids] == ["", "", "", "\U0001f600", "a", "", "\u00e9"]
    assert stream.finish() == ""


def test_half_a_character_at_the_end_is_replaced(small: Tokenizer) -> None:
    stream = small.decode_stream()
    ids = small.encode("\U0001f600")[:2]
    assert [stream.push(i) for i in ids] == ["", ""]
    assert stream.finish() == small.decode(ids) == "\ufffd"
    assert stream.push(small.encode("a")[0]) == "a"  # as new


@settings(max_examples=200)
@given(data=st.binary(max_size=40))
def test_any_bytes_in_pieces_equal_the_whole(small: Tokenizer, data: bytes) -> None:
    ids = [small.token_to_id(bytes([byte])) for byte in data]
    stream = small.decode_stream()
    pushed = [stream.push(i) for i in ids if i is not None]
    assert "".join([*pushed, stream.finish()]) == data.decode(errors="replace")


def check_time(tokenizer: Tokenizer, some: list[int]) -> None:
    """Ten times as many ids take ten times as long."""
    many = (some * (100_000 // len(some) + 1))[:100_000]

    def work(count: int) -> str:
        stream = tokenizer.decode_stream()
        return "".join([*map(stream.push, many[:count]), stream.finish()])

    assert work(len(many)) == tokenizer.decode(many)
    check_linear(work, 10_000, 10)


@pytest.mark.parametrize("name", ["bytes", "byte tokens"])
def test_pushing_takes_linear_time(name: str, small: Tokenizer, tmp_path: Path) -> None:
    if name == "bytes":
        tokenizer, some = small, small.encode(EMOJI_AND_CJK).tolist()
    else:
        tokenizer, library = load(tmp_path, definition(LLAMA))
        some = ids_of(library, [*BYTES[2:5], "\u4f60", "\U0001f600", "the"])
    check_time(tokenizer, some)


def test_one_endless_run_of_bytes_takes_linear_time(tmp_path: Path) -> None:
    tokenizer, library = load(tmp_path, definition(LLAMA))
    check_time(tokenizer, ids_of(library, BYTES[5:9]))  # one emoji


def test_many_streams_are_as_many_single_ones(small: Tokenizer) -> None:
    choose = random.Random(5)  # noqa: S311
    rows = [[choose.randrange(small.vocab_size) for _ in range(30)] for _ in range(8)]
    streams = small.decode_streams(8, skip_special_tokens=True)
    assert len(streams) == 8
    texts = [""] * 8
    for column in np.array(rows).T:
        texts = [a + b for a, b in zip(texts, streams.push(column), strict=True)]
    texts = [a + b for a, b in zip(texts, streams.finish(), strict=True)]
    assert texts == small.decode_batch(rows, skip_special_tokens=True)


def test_some_of_many_streams_go_on_alone(small: Tokenizer) -> None:
    streams = small.decode_streams(3)
    a, b = (int(small.encode(letter)[0]) for letter in "ab")
    assert streams.push([a, b], streams=[2, 0]) == ["a", "b"]
    half = small.encode("\u00e9").tolist()[0]
    assert streams.push([half], streams=[1]) == [""]
    assert streams.finish([1]) == ["\ufffd"]
    assert streams.push([a, a, b]) == ["a", "a", "b"]


def test_wrong_arguments_are_refused(small: Tokenizer) -> None:
    with pytest.raises(OptionError, match="n: expected"):
        small.decode_streams(-1)
    streams = small.decode_streams(2)
    with pytest.raises(OptionError, match="one for each of 2 streams, got 1"):
        streams.push([1])
    with pytest.raises(OptionError, match="numbers below 2, got 2"):
        streams.finish([2])
    with pytest.raises(OptionError, match="numbers below 2, got 'x'"):
        streams.push([1], streams=["x"])  # type: ignore[list-item]
    with pytest.raises(UnknownId, match="whole number, got str"):
        small.decode_stream().push("a")  # type: ignore[arg-type]


PIECES = st.lists(st.text(alphabet="ab c", max_size=5), max_size=12)


@settings(max_examples=100)
@given(
    pieces=PIECES,
    old=st.text(alphabet="ab", min_size=1, max_size=4),
    new=st.sampled_from(["", "a", "x "]),
)
def test_replacing_in_pieces_equals_replacing_the_whole(
    pieces: list[str], old: str, new: str
) -> None:
    step = ReplaceInText(old, new)
    got = "".join([*map(step.feed, pieces), step.finish()])
    assert got == "".join(pieces).replace(old, new)


@settings(max_examples=100)
@given(pieces=PIECES, left=st.integers(0, 3), right=st.integers(0, 3))
def test_stripping_in_pieces_equals_stripping_the_whole(
    pieces: list[str], left: int, right: int
) -> None:
    step = StripText("a", left, right)
    got = "".join([*map(step.feed, pieces), step.finish()])
    whole = "".join(pieces)
    whole = whole[min(left, len(whole) - len(whole.lstrip("a"))) :]
    assert got == whole[: len(whole) - min(right, len(whole) - len(whole.rstrip("a")))]
