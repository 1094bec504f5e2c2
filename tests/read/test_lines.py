"""Lines of plain files, read by the core: whole ones, counted, and none lost at any place."""

from __future__ import annotations

import itertools
import json
import os
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokenmill import _core
from tokenmill._read import Place, ReadRules, deal_streams, find_inputs, open_stream, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TARGETS = pytest.mark.parametrize("target", _core.targets())


@pytest.fixture
def text(tmp_path: Path) -> Iterator[tuple[int, bytes]]:
    """A file and its bytes: lines of many lengths, some longer than a step of the reader."""
    chance = random.Random("lines")  # noqa: S311
    sizes = [0, 1, 62, 63, 64, 65, 300_000, *(chance.randrange(200) for _ in range(3000))]
    chance.shuffle(sizes)
    data = b"".join(b"x" * size + b"\n" for size in sizes) + b"the last one has no end"
    (tmp_path / "a.txt").write_bytes(data)
    file = os.open(tmp_path / "a.txt", os.O_RDONLY)
    yield file, data
    os.close(file)


@TARGETS
def test_whole_lines_are_returned_and_counted(text: tuple[int, bytes], target: str) -> None:
    file, data = text
    chance = random.Random(target)  # noqa: S311
    for size in (0, 1, 63, 64, 65, 1000, 1 << 18, (1 << 18) + 1, 10**7):
        place = chance.randrange(len(data))
        some = data[place : place + size]
        wanted = some[: some.rfind(b"\n") + 1]
        lines, count = _core.read_lines(file, place, size, target=target)
        assert (bytes(lines), count) == (wanted, wanted.count(b"\n"))


def test_the_next_newline_is_found(text: tuple[int, bytes]) -> None:
    file, data = text
    for place in (0, 5, data.index(b"x" * 300_000), data.index(b"the last one") - 1):
        wanted = data.index(b"\n", place) - place
        assert _core.find_newline(file, place, 10**6) == wanted
        assert _core.find_newline(file, place, wanted) == wanted
        assert _core.find_newline(file, place, wanted - 1) == -1
    assert _core.find_newline(file, data.index(b"the last one"), 10**6) == -1


def test_an_error_of_the_system_is_raised(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(IsADirectoryError):
            _core.read_lines(folder, 0, 10)
        with pytest.raises(IsADirectoryError):
            _core.find_newline(folder, 0, 10)
    finally:
        os.close(folder)


@pytest.mark.parametrize("stream_bytes", [700, 5_000, 1 << 20])
@pytest.mark.parametrize("block_bytes", [40, 1_000, 1 << 20])
def test_lines_longer_than_blocks_and_streams_come_once(
    tmp_path: Path, block_bytes: int, stream_bytes: int
) -> None:
    chance = random.Random(7)  # noqa: S311
    texts = ["y" * chance.choice([1, 10, 300, 2_000, 9_000]) + str(i) for i in range(60)]
    rows = [json.dumps({"text": text}) for text in texts]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))  # no newline at the end
    rules = ReadRules(block_bytes=block_bytes, stream_bytes=stream_bytes)
    files = find_inputs([str(tmp_path / "a.jsonl")]).files
    found, places = [], []
    for stream in deal_streams(files, rules):
        reader = open_stream(stream, files, rules, ["text"], Place())
        while (raw := reader.read()) is not None:
            block = parse(raw, rules, ["text"])
            cuts = block.offsets.tolist()
            found += [bytes(block.text[a:b]).decode() for a, b in itertools.pairwise(cuts)]
            places += block.positions.tolist()
    assert found == texts
    assert places == np.cumsum([0, *(len(row) + 1 for row in rows[:-1])]).tolist()
