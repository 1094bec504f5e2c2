"""Shards read by the libraries they are for, those that are light enough for every run."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.write.shards import shard_of, write

from tokenmill._write import Extras

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [[[1, 2], [70_000, 4]], [[5]], [[], [6, 7, 8]]]
CONTEXT = 4
PADDED = [[1, 2, 70_000, 4], [5, 9, 9, 9], [6, 7, 8, 9]]


def written(form: str, folder: Path, *, padded: bool = True) -> Path:
    shard = shard_of(ROWS, dtype="uint32", context=CONTEXT, pad_id=9, padded=padded)
    records, _, _ = write(form, folder, shard)
    return folder / records[0].path


@pytest.mark.parametrize("form", ["bin", "datatrove", "olmo"])
def test_numpy_maps_flat_files(form: str, tmp_path: Path) -> None:
    ids = np.memmap(written(form, tmp_path), np.uint32, "r")
    assert ids.reshape(-1, CONTEXT).tolist() == PADDED


def test_numpy_loads_npy(tmp_path: Path) -> None:
    path = written("npy", tmp_path)
    rows = np.load(path, mmap_mode="r")
    assert (rows.tolist(), rows.dtype) == (PADDED, np.uint32)
    assert np.load(path.with_suffix(".lens.npy")).tolist() == [4, 1, 3]


def check_table(table: pa.Table) -> None:
    lists = pa.list_(pa.int32())
    assert table.schema.equals(pa.schema([("input_ids", lists), ("seq_lengths", lists)]))
    assert table["input_ids"].to_pylist() == [[1, 2, 70_000, 4], [5], [6, 7, 8]]
    assert table["seq_lengths"].to_pylist() == [[2, 2], [1], [0, 3]]


def test_pyarrow_reads_parquet(tmp_path: Path) -> None:
    path = written("parquet", tmp_path)
    check_table(pq.read_table(path))
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_pyarrow_maps_arrow(tmp_path: Path) -> None:
    with pa.memory_map(str(written("arrow", tmp_path))) as source:
        check_table(pa.ipc.open_file(source).read_all())


def load(path: Path, *, mmap: bool = False) -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    tensors: dict[str, Any] = torch.load(path, weights_only=True, mmap=mmap)
    return tensors


@pytest.mark.parametrize("mmap", [False, True])
def test_torch_loads_its_container(tmp_path: Path, mmap: bool) -> None:
    tensors = load(written("torch", tmp_path), mmap=mmap)
    assert list(tensors) == ["input_ids", "seq_lengths", "row_pieces"]
    assert tensors["input_ids"].tolist() == PADDED
    assert tensors["seq_lengths"].tolist() == [2, 2, 1, 0, 3]
    assert tensors["row_pieces"].tolist() == [0, 2, 3, 5]
    assert [str(t.dtype) for t in tensors.values()] == ["torch.int32", "torch.int32", "torch.int64"]
    assert tensors["input_ids"].data_ptr() % 64 == 0 or not mmap


@pytest.mark.parametrize("mmap", [False, True])
def test_torch_loads_a_chunk_as_a_bare_tensor(tmp_path: Path, mmap: bool) -> None:
    torch = pytest.importorskip("torch")
    chunk = torch.load(written("torch-chunks", tmp_path), weights_only=True, mmap=mmap)
    assert torch.equal(chunk, torch.tensor(PADDED))
    assert (chunk.dtype, chunk.is_contiguous(), chunk.requires_grad) == (torch.int64, True, False)


@pytest.mark.parametrize("single_rows", [False, True])
def test_a_chunk_of_one_row_is_a_vector_where_all_are(tmp_path: Path, single_rows: bool) -> None:
    torch = pytest.importorskip("torch")
    extras = Extras(single_rows=single_rows)
    for number, rows in enumerate(([[[1, 2, 3]]], [])):
        shard = shard_of(rows, context=CONTEXT, pad_id=9)
        write("torch-chunks", tmp_path, shard, number=number, extras=extras)
    chunk = torch.load(tmp_path / "chunk_000000.pt", weights_only=True)
    assert chunk.tolist() == ([1, 2, 3, 9] if single_rows else [[1, 2, 3, 9]])
    empty = torch.load(tmp_path / "chunk_000001.pt", weights_only=True)
    assert empty.shape == (0, CONTEXT)


def test_torch_loads_an_empty_shard(tmp_path: Path) -> None:
    records, _, _ = write("torch", tmp_path, shard_of([], context=CONTEXT))
    tensors = load(tmp_path / records[0].path)
    assert tensors["input_ids"].shape == (0, CONTEXT)
    assert tensors["row_pieces"].tolist() == [0]


def test_the_container_of_torch_is_a_sound_zip_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(written("torch", tmp_path)) as container:
        assert container.testzip() is None
        names = [entry.filename for entry in container.infolist()]
        assert {entry.date_time for entry in container.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert names[0] == "shard/data/0"
    assert {"shard/data.pkl", "shard/version", "shard/byteorder"} < set(names)


def test_torch_reads_llmc_heads(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = str(written("llmc", tmp_path))
    head = torch.from_file(path, False, 256, dtype=torch.int32)
    assert head[:4].tolist() == [20240801, 7, 12, 0]
