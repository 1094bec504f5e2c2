"""copy_pieces and Checksum: ids from files to the end of another one, and what they add up to."""

from __future__ import annotations

import errno
import os
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tokenmill import OptionError, _core
from tokenmill._core import Checksum

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATA = random.Random(7).randbytes(1 << 19)  # noqa: S311 -- more than two steps of copy_pieces
SHORT = 240
STEPS = [1, 3, 63, 64, 65, 100, 1023, 1024, 1025, 2048, 5000]


def digest_of(checksum: Checksum) -> str:
    short = checksum.short_bytes()
    if short is not None:
        return str(xxhash.xxh3_128_hexdigest(short))
    return "{:016x}{:016x}".format(*checksum.digest())


@given(steps=st.lists(st.sampled_from(STEPS), max_size=12))
def test_a_checksum_does_not_depend_on_the_pieces(steps: list[int]) -> None:
    checksum, end = Checksum(), 0
    for step in steps:
        checksum.update(DATA[end : end + step])
        end += step
    assert digest_of(checksum) == xxhash.xxh3_128_hexdigest(DATA[:end])


@pytest.mark.parametrize("sizes", [range(700), range(1000, 1200), range(2000, 2200)], ids=str)
def test_checksums_of_every_size(sizes: range) -> None:
    for size in sizes:
        checksum = Checksum()
        checksum.update(DATA[:size])
        assert (checksum.short_bytes() is None) is (size > SHORT)
        assert digest_of(checksum) == xxhash.xxh3_128_hexdigest(DATA[:size])


def test_few_bytes_have_no_digest() -> None:
    with pytest.raises(ValueError, match="more bytes"):
        Checksum().digest()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[list[int]]:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, data in zip(paths, (DATA, DATA[::-1]), strict=True):
        path.write_bytes(data)
    opened = [os.open(path, os.O_RDONLY) for path in paths]
    yield opened
    for file in opened:
        os.close(file)


def copy(files: list[int], pieces: list[tuple[int, int, int]], out: int) -> tuple[Any, Checksum]:
    source, begin, length = map(np.ascontiguousarray, np.array(pieces, np.int64).reshape(-1, 3).T)
    checksum = Checksum()
    found = _core.copy_pieces(files, source.astype(np.int32), begin, length, 2, out, checksum)
    return found, checksum


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [(0, 0, 0)],
        [(0, 5, 7)],
        [(0, 5, 7), (0, 12, 9), (1, 21, 3), (0, 0, 1 << 18), (1, 1000, 200_000)],
        [(1, 0, 1 << 17), (1, 1 << 17, 1 << 17)],
    ],
    ids=str,
)
def test_pieces_are_appended(
    pieces: list[tuple[int, int, int]], files: list[int], tmp_path: Path
) -> None:
    wanted = b"head"
    for source, begin, length in pieces:
        wanted += (DATA, DATA[::-1])[source][2 * begin : 2 * (begin + length)]
    with (tmp_path / "out").open("wb", buffering=0) as out:
        out.write(b"head")
        found, checksum = copy(files, pieces, out.fileno())
    assert found == (-1, 0)
    assert (tmp_path / "out").read_bytes() == wanted
    assert digest_of(checksum) == xxhash.xxh3_128_hexdigest(wanted[4:])


def test_faults_name_their_file(files: list[int], tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb", buffering=0) as out:
        assert copy(files, [(0, 0, 5), (1, 0, 1 << 19)], out.fileno())[0] == (1, 0)  # it ends
        assert copy([files[0], -1], [(1, 0, 1)], out.fileno())[0] == (1, errno.EBADF)
    assert copy(files, [(0, 0, 5)], files[1])[0] == (2, errno.EBADF)  # it is open for reading
    with pytest.raises(OptionError, match="piece 0: expected ids of a file"):
        copy(files, [(2, 0, 1)], files[1])
