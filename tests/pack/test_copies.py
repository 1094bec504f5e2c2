"""frame and gather: ids come out where the lengths say, and nothing is read outside a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill import DtypeError, OptionError
from tokenmill._pack import frame, gather

if TYPE_CHECKING:
    from pathlib import Path

DTYPES = pytest.mark.parametrize("dtype", ["uint16", "uint32"])
IDS = st.lists(st.integers(0, 65535), max_size=6)


@DTYPES
@given(documents=st.lists(IDS, max_size=8), prefix=IDS, suffix=IDS)
def test_frame_puts_ids_around_each_document(
    dtype: str, documents: list[list[int]], prefix: list[int], suffix: list[int]
) -> None:
    ids = np.array([i for document in documents for i in document], dtype)
    offsets = np.cumsum([0, *map(len, documents)])
    framed, lengths = frame(ids, offsets, prefix, suffix)
    wanted = [[*prefix, *document, *suffix] for document in documents]
    assert framed.dtype == dtype
    assert framed.tolist() == [i for document in wanted for i in document]
    assert lengths.tolist() == list(map(len, wanted))


def test_frame_takes_a_part_of_the_ids() -> None:
    ids = np.arange(10, dtype=np.uint16)
    framed, lengths = frame(ids, np.array([2, 4, 4, 7]), suffix=[99])
    assert framed.tolist() == [2, 3, 99, 99, 4, 5, 6, 99]
    assert lengths.tolist() == [3, 1, 4]


@pytest.mark.parametrize("offsets", [[0, 11], [-1, 3], [0, 5, 4], [], [0, 5, 11, 9]], ids=str)
def test_frame_refuses_offsets_outside_of_the_ids(offsets: list[int]) -> None:
    with pytest.raises(OptionError, match="offsets"):
        frame(np.arange(10, dtype=np.uint32), np.array(offsets, np.int64), [1])


def test_frame_refuses_ids_that_do_not_fit() -> None:
    ids = np.zeros(2, np.uint16)
    for wrong in (65536, -1):
        with pytest.raises(DtypeError, match="uint16 holds ids from 0 to 65535"):
            frame(ids, np.array([0, 2]), [wrong])
    with pytest.raises(DtypeError, match="uint16 or uint32"):
        frame(ids.astype(np.int64), np.array([0, 2]), [1])


@DTYPES
@given(data=st.data())
def test_gather_copies_pieces_in_their_order(dtype: str, data: st.DataObject) -> None:
    sources = [np.array(s, dtype) for s in data.draw(st.lists(IDS, min_size=1, max_size=4))]
    places = []
    for _ in range(data.draw(st.integers(0, 6))):
        s = data.draw(st.integers(0, len(sources) - 1))
        b = data.draw(st.integers(0, len(sources[s])))
        places.append((s, b, data.draw(st.integers(0, len(sources[s]) - b))))
    wanted = [i for s, b, n in places for i in sources[s][b : b + n].tolist()]
    out = np.full(len(wanted) + 1, 7, dtype)
    source, begin, length = np.array(places, np.int64).reshape(-1, 3).T
    assert gather(sources, source, begin, length, out) == len(wanted)
    assert out.tolist() == [*wanted, 7]


@DTYPES
def test_gather_reads_memory_maps_and_writes_into_a_part(dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    np.arange(100, dtype=dtype).tofile(path)
    mapped = np.memmap(path, dtype, "r")
    table = np.zeros((3, 4), dtype)
    assert gather([mapped], [0, 0], [90, 10], [2, 2], table[1]) == 4
    assert table.tolist() == [[0] * 4, [90, 91, 10, 11], [0] * 4]


@pytest.mark.parametrize(
    "place",
    [(0, 0, 6), (0, 6, 0), (0, -1, 1), (0, 2, -1), (1, 0, 1), (-1, 0, 1), (0, 2**62, 2**62),
     (0, -(2**63), 2**62)],
    ids=str,
)  # fmt: skip
def test_gather_refuses_pieces_outside_of_their_source(place: tuple[int, int, int]) -> None:
    out = np.zeros(8, np.uint16)
    source, begin, length = ([0, place[0]], [0, place[1]], [2, place[2]])
    with pytest.raises(OptionError, match="piece 1: expected ids of a source"):
        gather([np.ones(5, np.uint16)], source, begin, length, out)
    assert not out.any()


def test_gather_refuses_what_does_not_fit() -> None:
    sources = [np.ones(5, np.uint16)]
    out = np.zeros(3, np.uint16)
    with pytest.raises(OptionError, match="at most 3"):
        gather(sources, [0, 0], [0, 0], [2, 2], out)
    with pytest.raises(OptionError, match="one source, begin and length"):
        gather(sources, [0, 0], [0, 0], [2], out)
    assert not out.any()
    wrong: list[Any] = [np.zeros(3, np.uint32), np.zeros(3, np.int64), np.zeros((1, 3), np.uint16)]
    for array in wrong:
        with pytest.raises(DtypeError):
            gather(sources, [0], [0], [1], array)
    with pytest.raises(OptionError, match="contiguous"):
        gather(sources, [0], [0], [1], np.zeros(6, np.uint16)[::2])
