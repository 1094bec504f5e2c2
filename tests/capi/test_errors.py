"""Whatever a caller does wrong becomes a status and a message: nothing throws, nothing crashes."""

from __future__ import annotations

import random
import threading
from ctypes import byref, c_size_t, c_uint32, c_void_p
from typing import TYPE_CHECKING, Any

import pytest
from tests.capi.library import STATUS, EncodeOptions, StatusError, encode_options

from tokenmill._model.resolve import compile_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.capi.library import Library


@pytest.fixture(scope="module")
def data(small_mill: Path) -> bytes:
    return small_mill.read_bytes()


def test_a_missing_file_is_no_such_file(library: Library, tmp_path: Path) -> None:
    with pytest.raises(StatusError, match=r"nothing\.mill: cannot read the file") as caught:
        library.load(tmp_path / "nothing.mill")
    assert caught.value.status == STATUS["NO_SUCH_FILE"]


@pytest.mark.parametrize("content", [b"", b"MILL", b"x" * 10_000], ids=["empty", "short", "other"])
def test_another_file_is_a_corrupt_model(content: bytes, library: Library, tmp_path: Path) -> None:
    path = tmp_path / "other.mill"
    path.write_bytes(content)
    with pytest.raises(StatusError, match=r"other\.mill: .*; hint: ") as caught:
        library.load(path)
    assert caught.value.status == STATUS["CORRUPT_MODEL"]


def test_the_compressed_form_is_unsupported(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "packed.mill"
    compile_file(None, path, compressed=True)
    with pytest.raises(StatusError, match="without --compress") as caught:
        library.load(path)
    assert caught.value.status == STATUS["UNSUPPORTED"]


def test_every_flipped_byte_of_the_header_is_found(library: Library, data: bytes) -> None:
    for place in range(64):
        assert_damaged(library, data, place)


def test_flipped_bytes_after_the_header_are_found(library: Library, data: bytes) -> None:
    choose = random.Random(3)  # noqa: S311
    places = [64, 4095, 4096, len(data) - 1]
    for place in places + [choose.randrange(64, len(data)) for _ in range(60)]:
        assert_damaged(library, data, place)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 4095, 4096, -1])
def test_a_file_of_another_size_is_found(size: int, library: Library, data: bytes) -> None:
    with pytest.raises(StatusError) as caught:
        library.load_memory(data[:size])
    assert caught.value.status == STATUS["CORRUPT_MODEL"]
    with pytest.raises(StatusError, match="cut short, or added to"):
        library.load_memory(data + b"\0")


def assert_damaged(library: Library, data: bytes, place: int) -> None:
    damaged = bytearray(data)
    damaged[place] ^= 0x01
    with pytest.raises(StatusError) as caught:
        library.load_memory(bytes(damaged))
    assert caught.value.status == STATUS["CORRUPT_MODEL"], place


def test_null_is_a_bad_argument(library: Library, small_mill: Path) -> None:
    c = library.c
    ours = library.load(small_mill)
    count, number, out = c_size_t(), c_uint32(), c_void_p()
    calls: dict[str, Callable[[], int]] = {
        "load": lambda: c.tokenmill_load(None, None, byref(out)),
        "load to nothing": lambda: c.tokenmill_load(b"x", None, None),
        "memory": lambda: c.tokenmill_load_memory(None, c_size_t(9), None, byref(out)),
        "encode": lambda: c.tokenmill_encode(None, b"x", c_size_t(1), None, byref(out)),
        "text": lambda: c.tokenmill_encode(ours.handle, None, c_size_t(1), None, byref(out)),
        "encode to nothing": lambda: c.tokenmill_encode(ours.handle, b"x", c_size_t(1), None, None),
        "batch": lambda: c.tokenmill_encode_batch(ours.handle, None, c_size_t(2), None, byref(out)),
        "into": lambda: c.tokenmill_encode_into(
            ours.handle, b"x", c_size_t(1), None, None, c_size_t(5), byref(count)
        ),
        "count": lambda: c.tokenmill_count(ours.handle, b"x", c_size_t(1), None, c_size_t(9), None),
        "decode": lambda: c.tokenmill_decode(ours.handle, None, c_size_t(1), None, byref(out)),
        "decode to nothing": lambda: c.tokenmill_decode(ours.handle, None, c_size_t(0), None, None),
        "stream": lambda: c.tokenmill_stream_new(None, None, byref(out)),
        "push": lambda: c.tokenmill_stream_push(None, None, c_size_t(0), byref(out), byref(count)),
        "finish": lambda: c.tokenmill_stream_finish(None, byref(out), byref(count)),
        "token": lambda: c.tokenmill_token_to_id(None, b"x", c_size_t(1), byref(number)),
        "id": lambda: c.tokenmill_id_to_token(ours.handle, c_uint32(1), None),
    }
    for name, call in calls.items():
        assert call() == STATUS["BAD_ARGUMENT"], name
        assert "expected a pointer, got null" in library.message(), name
    frees: list[Any] = [c.tokenmill_free, c.tokenmill_encoding_free, c.tokenmill_bytes_free]
    for free in frees:
        free(None)
    c.tokenmill_stream_free(None)
    assert c.tokenmill_vocab_size(None) == 0
    assert not c.tokenmill_special_ids(None, byref(count))
    assert not c.tokenmill_encoding_ids(None, byref(count))
    assert not c.tokenmill_encoding_rows(None, None)


@pytest.mark.parametrize(
    ("option", "value"),
    [("special", 3), ("invalid", -1), ("offsets", 4), ("add_special_tokens", 2), ("threads", -1)],
)
def test_an_option_without_meaning_is_a_bad_argument(
    option: str, value: int, library: Library, small_mill: Path
) -> None:
    with pytest.raises(StatusError, match=rf"expected 0 to \d+, got {value}") as caught:
        library.load(small_mill).encode(b"x", **{option: value})
    assert caught.value.status == STATUS["BAD_ARGUMENT"]


def test_options_of_another_size_are_read_as_far_as_they_go(
    library: Library, small_mill: Path
) -> None:
    ours = library.load(small_mill)
    count = c_size_t()

    def status(options: EncodeOptions) -> int:
        return int(
            library.c.tokenmill_count(
                ours.handle, b"\xff", c_size_t(1), byref(options), c_size_t(9), byref(count)
            )
        )

    replace = encode_options(invalid=1)
    assert status(replace) == 0
    replace.size = 12  # a version that had nothing after add_special_tokens
    assert status(replace) == STATUS["INVALID_UTF8"]
    replace.size = 0
    assert status(replace) == STATUS["BAD_ARGUMENT"]
    assert "INIT macro" in library.message()


def test_bytes_that_are_not_utf8_are_named_by_place(library: Library, small_mill: Path) -> None:
    ours = library.load(small_mill)
    with pytest.raises(StatusError, match=r"^byte 2: .*TOKENMILL_UTF8_REPLACE") as caught:
        ours.encode(b"ab\xffc")
    assert caught.value.status == STATUS["INVALID_UTF8"]
    with pytest.raises(StatusError, match=r"^text 1: byte 0: "):
        ours.encode_batch([b"ab", b"\xff"])
    assert ours.decode(ours.encode(b"ab\xffc", invalid=1).ids).decode() == "ab\ufffdc"


def test_a_special_token_can_be_forbidden(library: Library, mills: dict[str, Path]) -> None:
    ours = library.load(mills["llama3"])
    text = b"a<|eot_id|>b"
    with pytest.raises(StatusError, match=r"the special token <\|eot_id\|>") as caught:
        ours.encode(text, special=2)
    assert caught.value.status == STATUS["SPECIAL_IN_TEXT"]
    assert ours.token_to_id("<|eot_id|>") in ours.encode(text).ids
    assert ours.token_to_id("<|eot_id|>") not in ours.encode(text, special=1).ids


def test_memory_that_is_too_small_is_told_what_it_needs(library: Library, small_mill: Path) -> None:
    ours = library.load(small_mill)
    ids = ours.encode_into(b"one two three", 100)
    with pytest.raises(StatusError, match=f"room for {len(ids)} numbers") as caught:
        ours.encode_into(b"one two three", len(ids) - 1)
    assert caught.value.status == STATUS["OUTPUT_TOO_SMALL"]
    assert ours.encode_into(b"one two three", len(ids)) == ids
    assert ours.count(b"one two three", limit=1) == 2


def test_an_unknown_id_is_named_and_leaves_the_stream_as_it_was(
    library: Library, small_mill: Path
) -> None:
    ours = library.load(small_mill)
    ids = ours.encode("\u4f60".encode()).ids.tolist()
    stream = ours.stream()
    with pytest.raises(StatusError, match="got 99999999") as caught:
        stream.push(*ids, 99_999_999)
    assert caught.value.status == STATUS["UNKNOWN_ID"]
    assert stream.push(*ids) + stream.finish() == "\u4f60"
    with pytest.raises(StatusError, match="only ids below the size of the vocabulary"):
        ours.decode([1, 99_999_999])


def test_a_message_belongs_to_its_thread(library: Library, small_mill: Path) -> None:
    ours = library.load(small_mill)
    with pytest.raises(StatusError, match="got 99999999"):
        ours.decode([99_999_999])
    seen: list[str] = []
    thread = threading.Thread(target=lambda: seen.append(library.message()))
    thread.start()
    thread.join()
    assert seen == [""]
    assert "99999999" in library.message()


def test_threads_share_one_tokenizer(library: Library, mills: dict[str, Path]) -> None:
    ours = library.load(mills["o200k"])
    words = "caf\u00e9 \u4f60\u597d"
    texts = [f"Thread {i}: {words} {'word ' * (i % 50)}".encode() for i in range(400)]
    want = [ours.encode(text).ids.tolist() for text in texts]
    wrong: list[int] = []

    def work(first: int) -> None:
        for i in range(first, first + len(texts)):
            at = i % len(texts)
            ids = ours.encode(texts[at], offsets=2).ids.tolist()
            if ids != want[at] or ours.decode(ids) != texts[at]:
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(50 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_every_status_has_a_name(library: Library) -> None:
    for name, number in STATUS.items():
        assert library.c.tokenmill_status_name(number).decode() == name
    assert library.c.tokenmill_status_name(len(STATUS)) == b"?"
    assert library.c.tokenmill_status_name(-1) == b"?"
