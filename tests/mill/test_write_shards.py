"""Shards out of ids that are in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokenmill import DtypeError, OptionError, Packer, Tokenizer, write_shards
from tokenmill._calls.batch import TokenBatch
from tokenmill._write import FORMATS, read_index

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = [list(range(1, 6)), [], list(range(10, 23)), [7]]


def batch(kind: str = "uint16") -> TokenBatch:
    ids = np.array([i for row in DOCUMENTS for i in row], kind)
    return TokenBatch(ids, np.cumsum([0, *map(len, DOCUMENTS)], dtype=np.int64))


@pytest.mark.parametrize("name", [name for name in FORMATS if not FORMATS[name].fixed_rows])
def test_documents_come_back_from_every_format(tmp_path: Path, name: str) -> None:
    paths = write_shards(tmp_path, [batch(), batch()], format=name)
    assert all(path.is_file() for path in paths)
    for number in (0, 1):
        stored = FORMATS[name].read_shard(tmp_path, number, dtype="uint16")
        assert np.concatenate(list(stored)).tolist() == batch().ids.tolist()
        index = read_index(tmp_path / "index" / f"shard-{number:05d}.rows")
        assert index.row_lengths.tolist() == [5, 0, 13, 1]


def test_a_packer_makes_rows(tmp_path: Path) -> None:
    write_shards(tmp_path, [batch()], format="npy", packer=Packer("bestfit", 8), pad_id=0)
    rows = np.load(tmp_path / "shard-00000.npy")
    assert rows.shape[1] == 8
    assert sorted(rows[rows > 0].tolist()) == sorted(batch().ids.tolist())


def test_what_a_tokenizer_gives_is_written_as_it_is(tmp_path: Path) -> None:
    encoded = Tokenizer.load().encode_batch(["one document", "another"], dtype="uint16")
    write_shards(tmp_path, [encoded])
    flat = np.fromfile(tmp_path / "shard-00000.bin", "<u2")
    assert flat.tolist() == encoded.ids.tolist()


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="rows of one length"):
        write_shards(tmp_path, [batch()], format="npy")
    with pytest.raises(OptionError, match="no pad id is given"):
        write_shards(tmp_path, [batch()], format="npy", packer=Packer("pad", 8))
    with pytest.raises(DtypeError, match="uint16 or uint32"):
        write_shards(tmp_path, [batch("int64")])
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
