"""read_pieces and fill_rows: ids from files into their places, and rows filled up."""

from __future__ import annotations

import itertools
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill import OptionError, _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DTYPES = pytest.mark.parametrize("dtype", ["uint16", "uint32"])
COUNT = 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    for dtype in ("uint16", "uint32"):
        for number in range(3):
            (100 * number + np.arange(COUNT, dtype=dtype)).astype(dtype).tofile(
                folder / f"{dtype}-{number}"
            )
    return folder


@pytest.fixture
def files(folder: Path) -> Iterator[dict[str, list[int]]]:
    with ExitStack() as stack:
        opened: dict[str, list[int]] = {}
        for dtype in ("uint16", "uint32"):
            for number in range(3):
                handle = os.open(folder / f"{dtype}-{number}", os.O_RDONLY)
                stack.callback(os.close, handle)
                opened.setdefault(dtype, []).append(handle)
        yield opened


def arrays(places: list[tuple[int, int, int]]) -> list[np.ndarray]:
    source, begin, length = np.array(places, np.int64).reshape(-1, 3).T
    at = np.cumsum(length) - length
    return [source.astype(np.int32), *map(np.ascontiguousarray, (begin, length, at))]


PLACES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 10)), max_size=12)


@DTYPES
def test_pieces_come_out_in_their_order(dtype: str, files: dict[str, list[int]]) -> None:
    @given(places=PLACES, follows=st.booleans())
    def check(places: list[tuple[int, int, int]], *, follows: bool) -> None:
        if follows:  # each piece where the one before ended: read at once
            places = [(s, b, n) for s, b, n in places] + [(1, 3, 4), (1, 7, 5), (1, 12, 1)]
        wanted = [100 * s + b + i for s, b, n in places for i in range(n)]
        out = np.full(len(wanted) + 1, 7, dtype)
        assert _core.read_pieces(files[dtype], *arrays(places), out) == (-1, 0)
        assert out.tolist() == [*wanted, 7]

    check()


@DTYPES
def test_a_file_that_is_too_short_is_named(dtype: str, files: dict[str, list[int]]) -> None:
    out = np.zeros(20, dtype)
    places = [(0, 0, 5), (2, COUNT - 3, 4)]
    assert _core.read_pieces(files[dtype], *arrays(places), out) == (2, 0)


def test_an_error_of_the_system_is_returned(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)  # a folder cannot be read
    try:
        source, error = _core.read_pieces([handle], *arrays([(0, 0, 5)]), np.zeros(5, np.uint16))
    finally:
        os.close(handle)
    assert source == 0
    assert os.strerror(error) == "Is a directory"


@pytest.mark.parametrize(
    "place", [(3, 0, 1), (-1, 0, 1), (0, -1, 1), (0, 0, -1), (0, 0, 9), (0, 2**62, 1)], ids=str
)
def test_pieces_without_a_file_or_room_are_refused(
    place: tuple[int, int, int], files: dict[str, list[int]]
) -> None:
    out = np.zeros(8, np.uint16)
    with pytest.raises(OptionError, match="piece 0: expected ids of a file and room"):
        _core.read_pieces(files["uint16"], *arrays([place]), out)
    source, begin, length, at = arrays([(0, 0, 1)])
    with pytest.raises(OptionError, match="one source, begin, length and place"):
        _core.read_pieces(files["uint16"], source, begin, length, at[:0], out)
    assert not out.any()


@DTYPES
@given(lengths=st.lists(st.integers(0, 5), max_size=9), length=st.integers(5, 7))
def test_rows_are_filled_up(dtype: str, lengths: list[int], length: int) -> None:
    ids = np.arange(1, sum(lengths) + 1).astype(dtype)
    ends = np.cumsum([0, *lengths]).tolist()
    rows = [ids[a:b].tolist() for a, b in itertools.pairwise(ends)]
    filled = _core.fill_rows(ids, np.array(lengths, np.int64), length, 9)
    assert filled.dtype == dtype
    assert filled.tolist() == [i for row in rows for i in [*row, *[9] * (length - len(row))]]


@pytest.mark.parametrize("lengths", [[3, 3], [5], [-1, 1]], ids=str)
def test_rows_that_are_not_of_the_ids_are_refused(lengths: list[int]) -> None:
    with pytest.raises(OptionError, match="expected rows of at most 4 of the ids"):
        _core.fill_rows(np.ones(5, np.uint16), np.array(lengths, np.int64), 4, 0)
