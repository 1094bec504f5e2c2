"""PackedDataset: rows come back as they were packed, with the columns derived from their pieces."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.dataset.outputs import make_output

from tokenmill import CorruptShard, MissingDependency, OptionError, PackedDataset, SourceNotFound
from tokenmill._dataset import COLUMNS
from tokenmill._write import FORMATS
from tokenmill._write.arrow import _RowGroups

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._pack.packer import Strategy

ALL = sorted(FORMATS)
LENGTHS = [5, 1, 9, 30, 2, 17, 8, 8, 3, 3, 3, 40]


def plain(folder: Path | list[Path], **options: Any) -> PackedDataset:
    return PackedDataset(folder, torch=False, **options)


@pytest.mark.parametrize("strategy", ["concat", "bestfit", "bos-bestfit-crop", "pad"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_rows_come_back_as_they_were_packed(
    strategy: Strategy, padded: bool, dtype: str, tmp_path: Path
) -> None:
    rows = make_output(
        tmp_path, LENGTHS, strategy=strategy, padded=padded, dtype=dtype, rows_per_shard=5
    )
    dataset = plain(tmp_path, pad_id=9999, columns=["input_ids"])
    assert len(dataset) == len(rows)
    wanted = [row + [9999] * (8 - len(row)) for row in rows]
    assert [row["input_ids"].tolist() for row in dataset] == wanted
    assert dataset[-1]["input_ids"].tolist() == wanted[-1]
    some = [len(rows) - 1, 0, 7, 7]
    batch = dataset.batch(some)["input_ids"]
    assert batch.dtype == np.int64
    assert batch.tolist() == [wanted[i] for i in some]
    for wrong in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError):
            dataset[wrong]
        with pytest.raises(IndexError):
            dataset.batch([wrong])


def test_everything_that_is_derived_can_be_asked_for(tmp_path: Path) -> None:
    make_output(tmp_path, [3, 7], context_length=4)
    columns = ["input_ids", "labels", "position_ids", "segment_ids", "attention_mask", "cu_seqlens"]
    batch = plain(tmp_path, columns=columns).batch([0, 2])
    assert {name: table.tolist() for name, table in batch.items()} == {
        "input_ids": [[1, 2, 3, 4], [9, 10, 0, 0]],
        "labels": [[-100, 2, 3, -100], [-100, 10, -100, -100]],
        "position_ids": [[0, 1, 2, 0], [0, 1, 0, 0]],
        "segment_ids": [[1, 1, 1, 2], [1, 1, 0, 0]],
        "attention_mask": [[1, 1, 1, 1], [1, 1, 0, 0]],
        "cu_seqlens": [0, 3, 4, 6, 8],
    }
    other = plain(tmp_path, columns=columns[:3], shifted_labels=True, ignore_index=-1,
                  continue_positions=True)[2]  # fmt: skip
    assert other["labels"].tolist() == [10, -1, -1, -1]
    assert other["position_ids"].tolist() == [5, 6, 0, 0]
    assert plain(tmp_path, columns=["cu_seqlens"])[0]["cu_seqlens"].tolist() == [0, 3, 4]


def test_documents_that_were_not_packed_have_their_lengths(tmp_path: Path) -> None:
    rows = make_output(tmp_path, [3, 0, 7, 1], None, strategy="none")
    dataset = plain(tmp_path)
    assert [row["input_ids"].tolist() for row in dataset] == rows
    assert dataset.batch([0, 2])["input_ids"].tolist() == [rows[0] + [0] * 4, rows[2]]


def test_several_outputs_are_numbered_through(tmp_path: Path) -> None:
    first = make_output(tmp_path / "a", [64])
    second = make_output(tmp_path / "b", [48], dtype="uint32", first_id=70_000)
    dataset = plain([tmp_path / "a", tmp_path / "b"])
    assert dataset.output_rows == (8, 6)
    assert dataset.batch(range(14))["input_ids"].tolist() == first + second
    make_output(tmp_path / "c", [64], context_length=16)
    with pytest.raises(OptionError, match="one context length"):
        plain([tmp_path / "a", tmp_path / "c"])


def test_pickling_leaves_the_maps_behind(tmp_path: Path) -> None:
    make_output(tmp_path, [4000], rows_per_shard=100)
    dataset = plain(tmp_path)
    wanted = dataset.batch(range(len(dataset)))["input_ids"]
    text = pickle.dumps(dataset)
    assert len(text) < 20_000
    again = pickle.loads(text)  # noqa: S301
    assert np.array_equal(again.batch(range(len(again)))["input_ids"], wanted)


def test_a_split_is_chosen_by_name(tmp_path: Path) -> None:
    make_output(tmp_path, [64], rows_per_shard=5)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["shards"][1]["split"] = "validation"
    other_format = {**manifest["shards"][0], "format": "npy", "path": "nowhere"}
    manifest["shards"].append(other_format)
    path.write_text(json.dumps(manifest))
    assert len(plain(tmp_path, split="train")) == 5
    assert len(plain(tmp_path, split="validation")) == 3
    for split in (None, "test"):
        with pytest.raises(OptionError, match="splits 'train', 'validation'"):
            plain(tmp_path, split=split)


def test_an_output_that_is_not_finished_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="at least one output"):
        plain([])
    with pytest.raises(SourceNotFound, match="resumes"):
        plain(tmp_path)


@pytest.mark.parametrize("text", ["{", "{}", '{"shards": [{}]}', "[]"])
def test_a_manifest_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(CorruptShard):
        plain(tmp_path)


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_rows_are_the_same_in_every_format(
    form: str, padded: bool, dtype: str, tmp_path: Path
) -> None:
    options: Any = {"strategy": "bestfit", "padded": padded, "dtype": dtype, "rows_per_shard": 5}
    make_output(tmp_path / "bin", LENGTHS, **options)
    make_output(tmp_path / "other", LENGTHS, form=form, **options)
    wanted, dataset = (
        plain(tmp_path / "bin", columns=COLUMNS),
        plain(tmp_path / "other", columns=COLUMNS),
    )
    some = [*range(len(wanted)), 3, 1]
    for name, table in wanted.batch(some).items():
        assert np.array_equal(dataset.batch(some)[name], table)
    again = pickle.loads(pickle.dumps(dataset))  # noqa: S301
    assert again[2]["input_ids"].tolist() == wanted[2]["input_ids"].tolist()


@pytest.mark.parametrize("form", [name for name in ALL if not FORMATS[name].fixed_rows])
def test_documents_are_rows_in_every_format_that_holds_them(form: str, tmp_path: Path) -> None:
    rows = make_output(tmp_path, [3, 300, 7, 1], None, strategy="none", form=form)
    assert [row["input_ids"].tolist() for row in plain(tmp_path)] == rows


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_tables_are_read_in_groups_of_rows(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokenmill._write.arrow.GROUP_TOKENS", 20)
    rows = make_output(tmp_path, LENGTHS, form=form, rows_per_shard=9)
    dataset = plain(tmp_path)
    backwards = range(len(rows) - 1, -1, -1)
    assert dataset.batch(backwards)["input_ids"].tolist() == [
        row + [0] * (8 - len(row)) for row in reversed(rows)
    ]


@pytest.mark.parametrize("kept_groups", [1, 3, 100])
def test_the_groups_used_last_are_kept(
    kept_groups: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokenmill._write.arrow.GROUP_TOKENS", 16)  # two rows, 32 bytes
    monkeypatch.setattr("tokenmill._dataset.shards._DECODED_BYTES", 32 * kept_groups)
    rows = make_output(tmp_path, [8 * 40], form="parquet", rows_per_shard=10)
    read: list[tuple[Path, int]] = []
    decode = _RowGroups.__getitem__

    def counted(self: Any, number: int) -> Any:
        read.append((self._path, number))
        return decode(self, number)

    monkeypatch.setattr(_RowGroups, "__getitem__", counted)
    dataset = plain(tmp_path)
    every_other = [*range(0, 40, 2), *range(1, 40, 2)]
    assert dataset.batch(every_other)["input_ids"].tolist() == [rows[i] for i in every_other]
    assert len(read) == len(set(read)) == 20  # a batch decodes no group twice
    read.clear()
    assert [dataset[i]["input_ids"].tolist() for i in range(40)] == rows
    assert len(read) == (0 if kept_groups >= 20 else 20)
    assert sum(run.nbytes for run in dataset._shards._decoded._kept.values()) <= 32 * kept_groups


def test_a_format_that_can_be_mapped_is_preferred(tmp_path: Path) -> None:
    rows = make_output(tmp_path, [64], form="parquet")
    parquet = json.loads((tmp_path / "manifest.json").read_text())
    make_output(tmp_path, [64], form="torch")
    torch = json.loads((tmp_path / "manifest.json").read_text())
    torch["shards"] = parquet["shards"] + torch["shards"]
    (tmp_path / "manifest.json").write_text(json.dumps(torch))
    (tmp_path / "parquet" / "shard-00000.parquet").unlink()
    assert plain(tmp_path).batch(range(8))["input_ids"].tolist() == rows


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    make_output(tmp_path, [64])
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text().replace('"format": "bin"', '"format": "later"'))
    with pytest.raises(CorruptShard, match="no known format, got later; hint: update tokenmill"):
        plain(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "other rows", "other lengths", "no table"])
def test_a_parquet_shard_that_does_not_fit_its_index_is_corrupt(
    damage: str, tmp_path: Path
) -> None:
    make_output(tmp_path, [64], form="parquet")
    path = tmp_path / "parquet" / "shard-00000.parquet"
    data = path.read_bytes()
    if damage == "cut":
        path.write_bytes(data[:-10])
    elif damage == "no table":
        path.write_bytes(b"PAR1" + bytes(40))
    else:
        rows = [[1] * 8] * 9 if damage == "other rows" else [[1] * 8] * 7 + [[1] * 9]
        lists = pa.array(rows, pa.list_(pa.int32()))
        pq.write_table(pa.table({"input_ids": lists}), path)
    with pytest.raises(CorruptShard) as caught:
        plain(tmp_path)[0]
    assert caught.value.path == path


@pytest.mark.parametrize("change", [1, 2, 16, -2, -16])
def test_a_shard_of_another_size_is_corrupt(change: int, tmp_path: Path) -> None:
    make_output(tmp_path, [64])
    path = tmp_path / json.loads((tmp_path / "manifest.json").read_text())["shards"][0]["path"]
    data = path.read_bytes()
    path.write_bytes(data + bytes(change) if change > 0 else data[:change])
    with pytest.raises(CorruptShard) as caught:
        plain(tmp_path)[0]
    assert caught.value.path == path
    path.unlink()
    with pytest.raises(CorruptShard, match="no such file"):
        plain(tmp_path)[0]


@pytest.mark.parametrize("columns", ["input_ids", ["ids"]])
def test_unknown_columns_are_refused(columns: str | list[str], tmp_path: Path) -> None:
    make_output(tmp_path, [64])
    with pytest.raises(OptionError, match="columns"):
        plain(tmp_path, columns=columns)


def test_an_output_without_rows_is_empty(tmp_path: Path) -> None:
    make_output(tmp_path, [])
    dataset = plain(tmp_path)
    assert len(dataset) == 0
    assert list(dataset) == list(dataset.iterate()) == []


def test_without_pytorch_asking_for_it_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_output(tmp_path, [64])
    monkeypatch.setattr("tokenmill._dataset.dataset.find_spec", lambda _: None)
    assert isinstance(PackedDataset(tmp_path)[0]["input_ids"], np.ndarray)
    with pytest.raises(MissingDependency, match="torch"):
        PackedDataset(tmp_path, torch=True)
