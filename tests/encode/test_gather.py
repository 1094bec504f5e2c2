"""Texts anywhere in memory -> UTF-8 back to back, by any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tokenmill import TextTypeError, Tokenizer
from tokenmill._core import CopyCrew, PickedTexts, TextBuffer, TextList, pick_ranges

if TYPE_CHECKING:
    from pathlib import Path

TEXTS: list[Any] = [
    "", "ascii", "caf\xe9", "\u4f60\u597d", "\U0001f600", b"bytes", bytearray(b"written"),
    memoryview(b"a view"), "a" * 300_000, "\xe9" * 5000, "\u0416a" * 9001, "\U0001f600x" * 4097,
    b"b" * 700_000, "", b"", "\xe9" * 65_536, "\u4f60a" * 65_537, "", "\U0001f600" * 131_073, "z",
]  # fmt: skip


def utf8(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return bytes(text)


def gather(crew: CopyCrew, texts: TextList, begin: int, end: int, out: Any) -> list[int]:
    crew.start_gather(texts, begin, end, out)
    return list(crew.finish_copies())


def joined(texts: list[Any], threads: int, begin: int = 0, end: int | None = None) -> bytes:
    listed = TextList(texts, threads)
    end = len(texts) if end is None else end
    size = int(listed.offsets[end] - listed.offsets[begin])
    out = np.full(size + 64, 7, np.uint8)
    assert gather(CopyCrew(threads), listed, begin, end, out) == []
    assert (out[size:] == 7).all()  # not a byte after the last one
    return out[:size].tobytes()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_texts_of_every_kind_lie_back_to_back(threads: int) -> None:
    wanted = [utf8(text) for text in TEXTS]
    assert TextList(TEXTS, threads).offsets.tolist() == np.cumsum([0, *map(len, wanted)]).tolist()
    assert joined(TEXTS, threads) == b"".join(wanted)
    for begin, end in ((0, 0), (3, 3), (1, 5), (8, 9), (7, 15), (15, 15), (15, 20), (16, 17)):
        assert joined(TEXTS, threads, begin, end) == b"".join(wanted[begin:end])


def test_many_short_texts_are_gathered_in_order() -> None:
    texts = [("caf\xe9 %d", "plain %d", "\u4f60 %d")[i % 3] % i for i in range(50_000)]
    assert joined(texts, 4) == "".join(texts).encode()


@pytest.mark.parametrize("threads", [1, 3])
def test_lone_surrogates_become_one_replacement_each_and_are_reported(threads: int) -> None:
    texts = ["ok", "\ud800", "a\udfffb", "\ud83d\ude00", "x" * 9000 + "\udc00", "\u4f60", ""]
    texts += ["", "\u4f60" * 70_000 + "\udc00" * 70_000 + "\xe9", "", "\xe9" * 200_000]
    listed = TextList(texts, threads)
    out = np.empty(int(listed.offsets[-1]), np.uint8)
    assert gather(CopyCrew(threads), listed, 0, len(texts), out) == [1, 2, 3, 4, 8]
    wanted = ["ok", "\ufffd", "a\ufffdb", "\ufffd\ufffd", "x" * 9000 + "\ufffd", "\u4f60"]
    wanted += ["\u4f60" * 70_000 + "\ufffd" * 70_000 + "\xe9", "\xe9" * 200_000]
    assert out.tobytes() == "".join(wanted).encode()


def test_a_list_stays_as_it_was_when_the_caller_changes_it() -> None:
    texts = ["hello" + str(i) for i in range(100)]
    listed = TextList(texts)
    wanted = "".join(texts).encode()
    texts.clear()
    out = np.empty(len(wanted), np.uint8)
    gather(CopyCrew(2), listed, 0, 100, out)
    assert out.tobytes() == wanted


def test_a_buffer_that_is_held_cannot_be_resized() -> None:
    text = bytearray(b"hello")
    listed = TextList([text])
    with pytest.raises(BufferError):
        text.append(1)
    del listed
    text.append(1)


def test_offsets_outlive_the_list() -> None:
    offsets = TextList(["hello", "world"]).offsets
    assert offsets.tolist() == [0, 5, 10]
    with pytest.raises(ValueError, match="read-only"):
        offsets[0] = 1


def test_what_is_not_a_text_is_named() -> None:
    with pytest.raises(TextTypeError, match=r"document 1: .*got int"):
        TextList(["hello", 7])
    with pytest.raises(TextTypeError, match=r"document 0: .*"):
        TextList([memoryview(b"hello")[::2]])


def test_ranges_that_do_not_exist_are_refused() -> None:
    listed, crew = TextList(["hello", "world"]), CopyCrew(1)
    out = np.empty(10, np.uint8)
    for begin, end in ((1, 0), (0, 3)):
        with pytest.raises(IndexError, match="no such texts"):
            crew.start_gather(listed, begin, end, out)
    with pytest.raises(ValueError, match="room"):
        crew.start_gather(listed, 0, 2, out[:9])
    with pytest.raises(ValueError, match="room"):
        crew.start_copy(out[:3], np.zeros(4, np.uint8))
    for number in (2, -1):
        with pytest.raises(IndexError, match="no such text"):
            listed.pick(np.array([number]))
    data = np.zeros(5, np.uint8)
    for begin, end in ((-1, 2), (3, 2), (0, 6)):
        with pytest.raises(IndexError, match="no such range"):
            pick_ranges(data, np.array([begin]), np.array([end]))


def test_picked_texts_are_encoded_like_the_whole_list(small_json: Path) -> None:
    tokenizer = Tokenizer.load(small_json)
    model: Any = tokenizer.ready.model
    texts = ["hello world", "caf\xe9", b"bytes", "\u4f60\u597d"]
    whole = tokenizer.encode_batch(texts)

    def rows(picked: PickedTexts) -> list[list[int]]:
        ids, offsets = model.encode_batch(picked)
        return [ids[a:b].tolist() for a, b in pairwise(offsets.tolist())]

    picked = TextList(texts).pick(np.array([3, 0, 0]))
    assert len(picked) == 3
    assert rows(picked) == [whole[i].tolist() for i in (3, 0, 0)]
    data = np.frombuffer(b"##hello world", np.uint8)
    assert rows(pick_ranges(data, np.array([2]), np.array([13]))) == [whole[0].tolist()]
    flat = TextBuffer(data, np.array([2, 13]))
    assert rows(TextList(flat).pick(np.array([0]))) == [whole[0].tolist()]


def test_a_crew_copies_arrays() -> None:
    crew = CopyCrew(3)
    source = np.random.default_rng(1).integers(0, 256, 3_000_001).astype(np.uint8)
    for size in [0, 1, 1 << 18, (1 << 18) + 1, 2_999_999, 3_000_001] * 5:
        target = np.zeros(size, np.uint8)
        crew.start_copy(target, source[:size])
        assert crew.finish_copies().size == 0
        assert np.array_equal(target, source[:size])
    assert crew.finish_copies().size == 0  # nothing was started


def test_a_crew_that_goes_ends_its_work_and_keeps_what_it_reads() -> None:
    for _ in range(20):
        out = np.zeros(4_000_000, np.uint8)
        crew = CopyCrew(3)
        crew.start_copy(out, np.full(4_000_000, 5, np.uint8))
        del crew
        assert (out == 5).all()
        crew = CopyCrew(3)
        crew.start_gather(TextList(["\xe9" * 1_000_000, b"ab" * 1_000_000]), 0, 2, out)
        crew.start_copy(out[:1], np.zeros(1, np.uint8))  # ends the one before
        crew.finish_copies()
        assert out[1] == 0xA9
        assert out[-1] == ord("b")


@pytest.mark.parametrize("target", ["scalar", "avx2", "avx512"])
def test_every_target_writes_the_same(target: str) -> None:
    code = (
        "from tests.encode.test_gather import *\n"
        "assert joined(TEXTS, 2) == b''.join(map(utf8, TEXTS))\n"
        "test_lone_surrogates_become_one_replacement_each_and_are_reported(2)"
    )
    environment = {**os.environ, "TOKENMILL_TARGET": target}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    if "TOKENMILL_TARGET" in done.stderr:
        pytest.skip("this CPU does not have it")
    assert done.returncode == 0, done.stderr
