"""What is written is read back: every format, rows at random, however the rows arrive."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.write.shards import Shard, read, shard_of, shards, write

from tokenmill import OptionError, TokenmillError
from tokenmill._files import checksum
from tokenmill._write import FORMATS, find_format

DOCUMENTS = [name for name, form in FORMATS.items() if not form.fixed_rows]


def check_round_trip(form: str, shard: Shard) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records, facts, padding = write(form, folder, shard)
        expected = shard.stored(form)
        assert read(form, folder, shard.shape.dtype) == expected
        assert padding == len(expected) - shard.shape.tokens
        assert facts.ids == len(expected)
        assert tuple(r.path for r in records) == FORMATS[form].file_names(0)
        assert sorted(p.name for p in folder.iterdir()) == sorted(r.path for r in records)
        for record in records:
            path = folder / record.path
            assert (path.stat().st_size, checksum(path)) == (record.bytes, record.checksum)
        mapped = FORMATS[form].map_ids(folder, 0, dtype=shard.shape.dtype)
        assert mapped is None or mapped.tolist() == expected


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=10)
@given(shard=shards(packed=True))
def test_packed_rows_come_back(form: str, shard: Shard) -> None:
    check_round_trip(form, shard)


@pytest.mark.parametrize("form", DOCUMENTS)
@settings(max_examples=8)
@given(shard=shards(packed=False))
def test_documents_come_back(form: str, shard: Shard) -> None:
    check_round_trip(form, shard)


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_shard_comes_back(form: str, tmp_path: Path) -> None:
    write(form, tmp_path, shard_of([], context=4))
    assert read(form, tmp_path, "uint16") == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_giant_row_comes_back(form: str, tmp_path: Path) -> None:
    giant = np.arange(5_000_000, dtype=np.uint32) * 7 % 100_000
    shard = shard_of([[[1, 2], [3]], [[]]], dtype="uint32", context=len(giant) + 1)
    pieces, ids = shard.rows.pieces, np.concatenate((shard.rows.ids, giant))
    pieces.lengths[-1] = len(giant)
    shape = type(shard.shape)(pieces.row_lengths, "uint32", len(giant) + 1, 0, padded=True)
    write(form, tmp_path, Shard(type(shard.rows)(ids, pieces), shape))
    parts = list(FORMATS[form].read_shard(tmp_path, 0, dtype="uint32"))
    stored = np.concatenate(parts)
    if form in {"parquet", "arrow"}:
        assert np.array_equal(stored, ids)
    else:
        assert np.array_equal(stored[:3], [1, 2, 3])
        assert not stored[3 : len(giant) + 1].any()
        assert np.array_equal(stored[len(giant) + 1 : -1], giant)


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=5)
@given(shard=shards(packed=True), data=st.data())
def test_how_rows_arrive_does_not_show(form: str, shard: Shard, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, shard.shape.rows), max_size=4))
    with tempfile.TemporaryDirectory() as name:
        whole, _, padding = write(form, Path(name) / "a", shard)
        cut, _, again = write(form, Path(name) / "b", shard, cuts=tuple(cuts))
    assert (whole, padding) == (cut, again)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_groups_of_rows_do_not_depend_on_how_rows_arrive(form: str, tmp_path: Path) -> None:
    row = [[1] * 90_000, [2] * 9_999]
    shard = shard_of([row] * 24, context=100_000)
    assert (
        write(form, tmp_path / "a", shard)[0]
        == write(form, tmp_path / "b", shard, cuts=(1, 2, 5, 11))[0]
    )
    assert read(form, tmp_path / "b", "uint16") == shard.stored(form)


@pytest.mark.parametrize("form", FORMATS)
def test_splits_have_their_own_names(form: str, tmp_path: Path) -> None:
    train, val = shard_of([[[1, 2]]], context=2), shard_of([[[3, 4]]], context=2)
    facts = [
        write(form, tmp_path, train, number=3, split="train")[1],
        write(form, tmp_path, val, number=3, split="val")[1],
    ]
    FORMATS[form].finish(tmp_path, facts)
    assert read(form, tmp_path, "uint16", number=3, split="train") == [1, 2]
    assert read(form, tmp_path, "uint16", number=3, split="val") == [3, 4]


@pytest.mark.parametrize("form", ["litdata", "mds"])
def test_finishing_twice_and_in_another_order_gives_the_same_bytes(
    form: str, tmp_path: Path
) -> None:
    facts = [write(form, tmp_path, shard_of([[[i, i]]], context=2), number=i)[1] for i in range(3)]
    first = FORMATS[form].finish(tmp_path, facts)
    assert first == FORMATS[form].finish(tmp_path, facts[::-1])
    assert [record.path for record in first] == ["index.json"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_discarded_shard_leaves_nothing(form: str, tmp_path: Path) -> None:
    shard = shard_of([[[1, 2]], [[3, 4]]], context=2)
    writer = FORMATS[form].open_shard(tmp_path, 0, shard.shape)
    writer.write(shard.rows)
    writer.discard()
    del writer
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("form", FORMATS)
def test_rows_that_do_not_match_the_shape_are_refused(form: str, tmp_path: Path) -> None:
    shard, other = shard_of([[[1, 2]]] * 2, context=3), shard_of([[[1, 2, 3]]], context=3)
    writer = FORMATS[form].open_shard(tmp_path, 0, shard.shape)
    with pytest.raises(TokenmillError, match="rows 0 to 1 have different lengths"):
        writer.write(other.rows)
    with pytest.raises(TokenmillError, match="2 rows were expected, got 0"):
        writer.commit()
    writer.discard()


def test_an_unknown_format_is_refused() -> None:
    assert find_format("mds") is FORMATS["mds"]
    with pytest.raises(OptionError, match="unknown format 'tar'; hint: one of bin, megatron"):
        find_format("tar")
