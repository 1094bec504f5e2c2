"""Files read in streams and blocks: every record once, at its place, wherever the cuts fall."""

from __future__ import annotations

import itertools
import json
import os
import random
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.read.helpers import COMPRESS, Read, expected_jsonl, read_all, read_stream

from tokenmill import InputError
from tokenmill._read import Place, ReadRules, deal_streams, find_inputs, open_stream, parse

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._read import BadRecord, RawBlock, StreamReader

REPAIR = frozenset({"bad_utf8", "lone_surrogate"})


def dirty_lines(count: int, seed: str = "lines") -> bytes:
    """Lines of all kinds; no newline after the last."""
    chance = random.Random(seed)  # noqa: S311
    lines = []
    for i in range(count):
        good = json.dumps({"id": i, "text": "x\u00e9\n" * chance.randrange(1, 12)}).encode()
        other = chance.choice(
            [b"", b" \r", b"{bad", b'{"text":null}', b'{"text":"\xff"}', b'{"text":"\\ud800"}',
             b'{"text":""}', b'{"id":1}', b"[]"]
        )  # fmt: skip
        lines.append(other if chance.random() < 0.2 else good + b"\r" * chance.randrange(2))
    return b"\n".join(lines)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("replace", [frozenset(), REPAIR])
def test_every_compression_gives_what_the_reference_gives(
    tmp_path: Path, suffix: str, replace: frozenset[str]
) -> None:
    data = dirty_lines(400)
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(COMPRESS[suffix](data))
    for block_bytes in (64, 1000, 8 << 20):
        rules = ReadRules(block_bytes=block_bytes, replace=replace)
        found = read_all([path], rules)
        assert found.input_bytes == path.stat().st_size
        found.input_bytes = len(data)
        assert found == expected_jsonl(data, rules)


@pytest.mark.parametrize("suffix", [s for s in COMPRESS if s])
def test_members_one_after_the_other(tmp_path: Path, suffix: str) -> None:
    data = dirty_lines(60)
    cuts = [0, 5, 500, 501, len(data)]
    members = [COMPRESS[suffix](data[a:b]) for a, b in itertools.pairwise(cuts)]
    padding = b"\0" * 8 if suffix in (".gz", ".xz") else b""
    (tmp_path / f"a.jsonl{suffix}").write_bytes(b"".join(members) + padding)
    found = read_all([tmp_path / f"a.jsonl{suffix}"], ReadRules(block_bytes=300))
    assert found.documents == expected_jsonl(data, ReadRules()).documents


@pytest.mark.parametrize("ending", [b"", b"\n", b"\n\n"])
def test_byte_ranges_of_every_size_give_each_line_once(tmp_path: Path, ending: bytes) -> None:
    data = dirty_lines(20) + ending
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    expected = expected_jsonl(data, ReadRules())
    for stream_bytes in [*range(1, 40), 100, 333, len(data) - 1, len(data), len(data) + 1]:
        rules = ReadRules(stream_bytes=stream_bytes, block_bytes=1 + stream_bytes % 97)
        assert read_all([path], rules) == expected, stream_bytes


def test_reading_goes_on_at_any_place(tmp_path: Path) -> None:
    data = dirty_lines(50)
    for suffix in ("", ".gz"):
        (tmp_path / f"a.jsonl{suffix}").write_bytes(COMPRESS[suffix](data))
    (tmp_path / "b.txt").write_bytes(b"one\n\ntwo\xff\nthree")
    rules = ReadRules(block_bytes=100, text_mode="line")
    files = find_inputs([tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz", tmp_path / "b.txt"]).files
    fields = ["text", "text", ""]
    for stream in deal_streams(files, rules):
        blocks = read_stream(stream, files, rules, fields)
        for i, block in enumerate(blocks[:-1]):
            again, rest = Read(), Read()
            for other in blocks[i + 1 :]:
                rest.add(other, {})
            for other in read_stream(stream, files, rules, fields, block.after):
                again.add(other, {})
            again.input_bytes = rest.input_bytes = 0  # a compressed file is read again
            assert again == rest
    reader = open_stream(stream, files, rules, fields, Place(len(stream.segments)))
    last = reader.read()
    assert last is not None
    assert (last.parts, last.ends_stream, reader.read()) == ((), True, None)


def test_small_files_are_read_together_and_apart_from_other_sources(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for i in range(10):
            (tmp_path / folder / f"{i}.txt").write_text(f"{folder}{i}" if i != 3 else "")
    files = find_inputs([tmp_path / "a", tmp_path / "b"]).files
    rules = ReadRules(stream_bytes=10)
    streams = deal_streams(files, rules)
    assert [len(stream.segments) for stream in streams] == [6, 4, 6, 4]
    found = read_all([tmp_path / "a", tmp_path / "b"], rules)
    names = [f"{folder}{i}" for folder in "ab" for i in range(10) if i != 3]
    assert found.texts == [name.encode() for name in names]
    assert found.bad == [(3, 1, 0, "empty_text"), (13, 1, 0, "empty_text")]
    blocks = [len(read_stream(stream, files, rules, [""] * 20)) for stream in streams]
    assert blocks == [1, 1, 1, 1]


@pytest.mark.parametrize("block_bytes", [1, 7, 1000])
@pytest.mark.parametrize("separator", ["<|end|>", "aa", "\n\n", "\n"])
def test_separators(tmp_path: Path, separator: str, block_bytes: int) -> None:
    chance = random.Random(separator)  # noqa: S311
    parts = ["b", " ", "a", "", "aab", "x\ny", "\u00e9" * 9, separator, separator[:1]]
    text = "".join(chance.choice([*parts, separator]) for _ in range(200))
    (tmp_path / "a.txt").write_text(text)
    found = read_all(
        [tmp_path / "a.txt"],
        ReadRules(text_mode=separator, block_bytes=block_bytes, stream_bytes=9),
    )
    pieces = text.split(separator)
    assert found.texts == [piece.encode() for piece in pieces if piece.strip(" \t\r\n")]
    whole = text.encode()
    assert all(whole[p:].startswith(t) for _, _, p, t in found.documents)


def test_lines_of_text(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfone\r\n\ntwo \xff\n \t\n\r\nthree\n"
    (tmp_path / "a.txt").write_bytes(data)
    found = read_all([tmp_path / "a.txt"], ReadRules(text_mode="line"))
    assert found.documents == [(0, 1, 3, b"one"), (0, 6, 20, b"three")]
    assert (found.bad, found.blank_lines) == ([(0, 3, 9, "bad_utf8")], 3)
    repaired = read_all([tmp_path / "a.txt"], ReadRules(text_mode="line", replace=REPAIR))
    assert repaired.texts == [b"one", "two \ufffd".encode(), b"three"]
    assert repaired.replaced == {"bad_utf8": 1}


@pytest.mark.parametrize("suffix", ["", ".zst"])
@pytest.mark.parametrize("mode", ["jsonl", "line", "file", "<|end|>"])
def test_a_record_that_is_too_long_is_passed_over(tmp_path: Path, suffix: str, mode: str) -> None:
    """Its place, length and first bytes are kept; it is never in memory as a whole."""
    rules = ReadRules(max_document_bytes=1000, block_bytes=1 << 16, text_mode=mode)
    size = 40 << 20
    if mode == "jsonl":
        first, long, last = b'{"text":"a"}\n', b'{"text":"' + b"y" * size + b'"}', b'\n{"text":"b"}'
    elif mode == "file":
        first, long, last = b"", b"y" * size, b""
    else:
        end = b"\n" if mode == "line" else mode.encode()
        first, long, last = b"a" + end, b"y" * size, end + b"b"
    path = tmp_path / ("a.jsonl" if mode == "jsonl" else "a.txt")
    path = path.with_name(path.name + suffix)
    path.write_bytes(COMPRESS[suffix](first + long + last))
    files = find_inputs([path]).files
    tracemalloc.start()
    documents: list[str] = []
    bad: list[BadRecord] = []
    for stream in deal_streams(files, rules):
        for block in read_stream(stream, files, rules, ["text"]):
            documents += block.text.tobytes().decode()
            bad += block.bad
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert documents == ([] if mode == "file" else ["a", "b"])
    (record,) = bad
    assert (record.reason, record.offset, record.length) == ("too_long", len(first), len(long))
    assert record.raw == long[:4096]
    assert peak < 20 << 20


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("stream_bytes", [1000, 64 << 20])
def test_long_records_are_measured_before_they_are_held(
    tmp_path: Path, suffix: str, stream_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokenmill._read.records._HOLD_BYTES", 3000)
    limit = ReadRules(max_document_bytes=50).max_line_bytes
    sizes = [10, limit - 11, 4000, limit - 10, 20, limit * 2]
    lines = [b'{"x":"' + b"y" * size + b'"}' for size in sizes]
    lines = [line[:-1] + b',"text":"a"}' for line in lines]
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(COMPRESS[suffix](b"\n".join(lines)))
    rules = ReadRules(max_document_bytes=50, block_bytes=1000, stream_bytes=stream_bytes)
    found = read_all([path], rules)
    is_long = [len(line) > limit for line in lines]
    assert is_long == [False, True, False, True, False, True]
    assert [line for _, line, _, _ in found.documents] == [1, 3, 5]
    assert [(line, reason) for _, line, _, reason in found.bad] == [
        (2, "too_long"), (4, "too_long"), (6, "too_long"),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_line_of_two_gigabytes_in_a_hundred_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(b'{"text":"a"}\n{"text":"')
        for _ in range(2048):
            file.write(b"y" * (1 << 20))
        file.write(b'"}\n{"text":"b"}\n')
    tracemalloc.start()
    rules = ReadRules()
    found = read_all([path], rules)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    path.unlink()
    assert found.texts == [b"a", b"b"]
    assert found.bad == [(0, 2, 13, "too_long")]
    assert peak < 100 << 20


def test_a_text_much_longer_than_a_block(tmp_path: Path) -> None:
    text = "ab\u00e9\n" * 300_000
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": text, "id": 1}) + '\n{"text":"b"}\n')
    for stream_bytes in (1 << 10, 64 << 20):
        found = read_all([path], ReadRules(block_bytes=1 << 12, stream_bytes=stream_bytes))
        assert found.texts == [text.encode(), b"b"]


@pytest.mark.parametrize("suffix", [s for s in COMPRESS if s])
def test_a_cut_or_damaged_file_is_an_error(tmp_path: Path, suffix: str) -> None:
    chance = random.Random(suffix)  # noqa: S311
    data = b"\n".join(b'{"text":"%d"}' % chance.randrange(1 << 60) for _ in range(3000))
    whole = COMPRESS[suffix](data)
    path = tmp_path / f"a.jsonl{suffix}"
    for cut in (1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"a\.jsonl.* at byte \d+: ") as caught:
            read_all([path], ReadRules(field="text"))
        assert caught.value.path == str(path)
    path.write_bytes(whole + b"garbage after the end")
    with pytest.raises(InputError, match=r"damaged|ends before"):
        read_all([path], ReadRules(field="text"))
    path.write_bytes(b"")
    with pytest.raises(InputError, match="empty file"):
        read_all([path], ReadRules(field="text"))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_changed_byte_is_an_error(tmp_path: Path, suffix: str) -> None:
    whole = bytearray(COMPRESS[suffix](dirty_lines(2000)))
    whole[len(whole) // 2] ^= 0x40
    (tmp_path / f"a.jsonl{suffix}").write_bytes(whole)
    with pytest.raises(InputError, match="damaged"):
        read_all([tmp_path / f"a.jsonl{suffix}"], ReadRules(field="text"))


def read_to_end(reader: StreamReader) -> None:
    while reader.read() is not None:
        pass


def test_files_that_change_or_vanish_after_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text":"a"}\n' * 100)
    rules = ReadRules(block_bytes=100)
    files = find_inputs([path]).files
    (stream,) = deal_streams(files, rules)
    reader = open_stream(stream, files, rules, ["text"])
    reader.read()
    os.truncate(path, 500)
    with pytest.raises(InputError, match="expected 1300 bytes"):
        read_to_end(reader)
    with pytest.raises(InputError, match="changed since the run was planned"):
        read_stream(stream, files, rules, ["text"])
    path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        read_stream(stream, files, rules, ["text"])


def test_parsing_is_pure(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(dirty_lines(100))
    rules = ReadRules(block_bytes=500)
    files = find_inputs([path]).files
    reader = open_stream(deal_streams(files, rules)[0], files, rules, ["text"])
    raws = []
    while (raw := reader.read()) is not None:
        raws.append(raw)
    forth, back = Read(), Read()
    for raw in raws:
        forth.add(parse(raw, rules, ["text"]), {})
    for block in [parse(raw, rules, ["text"]) for raw in reversed(raws)][::-1]:
        back.add(block, {})
    assert forth == back


@pytest.mark.parametrize("compression", ["", ".gz"])
@pytest.mark.parametrize("block_bytes", [1, 300, 4_000, 100_000])
def test_blocks_are_cut_alike_wherever_reading_began(
    tmp_path: Path, block_bytes: int, compression: str
) -> None:
    """A resumed run must make the same blocks, or it would make other parts."""
    path = tmp_path / f"a.jsonl{compression}"
    lines = dirty_lines(300) + b"\n" + b'{"text": "' + b"x" * 90_000 + b'"}\n' + dirty_lines(300)
    path.write_bytes(COMPRESS[compression](lines) if compression else lines)
    rules = ReadRules(
        field="text", block_bytes=block_bytes, stream_bytes=70_000, max_document_bytes=40_000
    )
    files = find_inputs([str(path)]).files
    for stream in deal_streams(files, rules):
        reader = open_stream(stream, files, rules, ["text"])
        places = []
        while (block := reader.read()) is not None:
            places.append(block.after)
        reader.close()
        for index in range(0, len(places) - 1, max(1, len(places) // 20)):
            again = open_stream(stream, files, rules, ["text"], places[index])
            block = again.read()
            again.close()
            assert block is not None
            assert block.after == places[index + 1]


@pytest.mark.parametrize("extra", [0, 1, 5000])
def test_memory_of_a_block_does_not_change_where_blocks_end(tmp_path: Path, extra: int) -> None:
    """Lines of many small files fill blocks to the last byte, with and without such memory."""
    chance = random.Random("files")  # noqa: S311
    for number in range(60):
        lines = [b'{"text":"' + b"x" * chance.randrange(9) + b'"}\n' for _ in range(9)]
        # Without a newline at its end, the last line of a file is in a block with the next file.
        (tmp_path / f"{number:03}.jsonl").write_bytes(b"".join(lines)[:-1])
    (tmp_path / "z.jsonl").write_bytes(dirty_lines(400) + b"\n" + b"y" * 3000 + b"\n")
    files = find_inputs([tmp_path]).files
    for block_bytes in range(60, 130, 3):
        rules = ReadRules(block_bytes=block_bytes)
        memory = np.empty(block_bytes + extra, np.uint8)
        for stream in deal_streams(files, rules):
            alone = open_stream(stream, files, rules, ["text"] * len(files))
            within = open_stream(stream, files, rules, ["text"] * len(files))
            while (expected := alone.read()) is not None:
                found = within.read(memory)
                assert found is not None
                assert _copied(found) == _copied(expected)
            assert within.read(memory) is None


def _copied(raw: RawBlock) -> object:
    parts = [(part.file, part.line, part.offset, bytes(part.data)) for part in raw.parts]
    return parts, raw.bad, raw.after, raw.ends_stream, raw.input_bytes, raw.segment_lines
