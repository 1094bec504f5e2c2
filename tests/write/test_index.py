"""Our own index of a shard."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.write.shards import Shard, shard_of, shards

from tokenmill import CorruptShard
from tokenmill._pack.rows import Pieces
from tokenmill._write import index_name, read_index, write_index


@settings(max_examples=25)
@given(shard=shards(packed=False))
def test_pieces_come_back(shard: Shard) -> None:
    pieces = shard.rows.pieces
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / index_name(0)
        write_index(path, pieces)
        index = read_index(path)
        assert index.pieces.documents.tolist() == pieces.documents.tolist()
        assert index.pieces.begins.tolist() == pieces.begins.tolist()
        assert index.pieces.lengths.tolist() == pieces.lengths.tolist()
        assert index.pieces.row_pieces.tolist() == pieces.row_pieces.tolist()
        assert index.row_lengths.tolist() == pieces.row_lengths.tolist()
        assert (index.rows, index.tokens) == (pieces.rows, int(pieces.lengths.sum()))


def test_the_bytes(tmp_path: Path) -> None:
    pieces = Pieces(
        documents=np.array([5, 5, 6]),
        begins=np.array([0, 3, 0]),
        lengths=np.array([3, 1, 2]),
        row_pieces=np.array([0, 1, 3]),
    )
    path = tmp_path / index_name(12, "val")
    assert path.name == "val-00012.rows"
    record = write_index(path, pieces)
    tables = struct.pack("<3q3q3q3q3q", 0, 3, 6, 0, 1, 3, 3, 1, 2, 5, 5, 6, 0, 3, 0)
    head = b"MILLROWS" + struct.pack("<4Q", 1, 2, 3, xxhash.xxh3_64_intdigest(tables)) + bytes(24)
    assert path.read_bytes() == head + tables
    assert record.bytes == 64 + 15 * 8


@settings(max_examples=40)
@given(at=st.integers(0, 64 + 15 * 8 - 1), flip=st.integers(1, 255), cut=st.booleans())
def test_damage_is_found(at: int, flip: int, cut: bool) -> None:
    reserved = range(40, 64)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "index"
        write_index(path, shard_of([[[1, 2, 3]], [[4], [5, 6]]]).rows.pieces)
        data = bytearray(path.read_bytes())
        data[at] ^= flip
        path.write_bytes(data[:at] if cut else data)
        if cut or at not in reserved:
            with pytest.raises(CorruptShard):
                read_index(path)


def test_an_index_of_a_later_version_says_so(tmp_path: Path) -> None:
    path = tmp_path / "index"
    write_index(path, shard_of([]).rows.pieces)
    data = bytearray(path.read_bytes())
    data[8] = 2
    path.write_bytes(data)
    with pytest.raises(CorruptShard, match="expected version 1, got 2; hint: update"):
        read_index(path)
