"""Files through CausalLMTokenizer: the rows of the same texts as a Dataset, or packed shards."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

datasets = pytest.importorskip("datasets", reason="the extra `test` has it")

import pyarrow.parquet as pq  # noqa: E402 -- after the check that datasets is installed

import tokenmill  # noqa: E402
from tokenmill import (  # noqa: E402
    CausalLMTokenizer,
    InputError,
    Manifest,
    OptionError,
    SourceNotFound,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenmill import Tokenizer

TEXTS = [f"hello world {n}, hello again" * (n % 5 + 1) for n in range(30)]
SIZE = 16


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of three kinds, whose order is that of their names."""
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "a.jsonl").write_bytes(lines(TEXTS[:12]))
    (raw / "b.jsonl.gz").write_bytes(gzip.compress(lines(TEXTS[12:29])))
    (raw / "c.txt").write_text(TEXTS[29])
    return raw


def lines(texts: Sequence[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def made(small_json: Path, **keys: Any) -> CausalLMTokenizer:
    keys = {"context_length": SIZE, "show_progress": False, "verbose_level": "WARNING", **keys}
    return CausalLMTokenizer(tokenizer_name=str(small_json), **keys)


def slow_rows(tokenizer: Tokenizer, texts: Sequence[str], overlap: int) -> list[list[int]]:
    """Cut the stream of all documents, the last row filled with EOS."""
    eos = tokenizer.special_tokens["</s>"]
    ids = [i for text in texts for i in [*tokenizer.encode(text).tolist(), eos]]
    rows: list[list[int]] = []
    begin = 0
    while not rows or begin + overlap < len(ids):
        row = ids[begin : begin + SIZE]
        rows.append(row + [eos] * (SIZE - len(row)))
        begin += SIZE - overlap
    return rows


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("overlap", [0, 5])
@pytest.mark.parametrize("more", [{}, {"mask_overlap": True}, {"tail": "drop"}, {"max_rows": 7}])
def test_files_give_what_their_texts_give_as_a_dataset(
    small_json: Path, folder: Path, *, pack: bool, overlap: int, more: dict[str, Any]
) -> None:
    tokenizer = made(small_json, overlap=overlap)
    found = tokenizer.tokenize(folder, pack=pack, **more)
    wanted = tokenizer.tokenize(datasets.Dataset.from_dict({"text": TEXTS}), pack=pack, **more)
    assert isinstance(found, datasets.Dataset)
    assert found.features == wanted.features
    assert found.to_dict() == wanted.to_dict()


@pytest.mark.parametrize("overlap", [0, 5])
def test_rows_of_files_are_those_of_the_slow_cut(
    small_json: Path, small: Tokenizer, folder: Path, overlap: int
) -> None:
    rows = made(small_json, overlap=overlap).tokenize([folder / "a.jsonl", folder / "b.jsonl.gz"])
    assert list(rows["input_ids"]) == slow_rows(small, TEXTS[:29], overlap)
    kinds = {name: feature.feature.dtype for name, feature in rows.features.items()}
    assert kinds == {"input_ids": "int32", "attention_mask": "int8", "labels": "int32"}


def test_globs_and_lists_and_texts_are_paths(small_json: Path, folder: Path) -> None:
    tokenizer = made(small_json)
    one = tokenizer.tokenize(str(folder / "*.jsonl*")).to_dict()
    assert tokenizer.tokenize([str(folder / "a.jsonl"), folder / "b.jsonl.gz"]).to_dict() == one


def test_records_that_are_no_text_are_counted_and_logged(
    small_json: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(["hello world"]) + b'{"text": 5}\n{oops\n{"text": ""}\n{"text": null}\n')
    rows = made(small_json).tokenize(path)
    assert sum(rows["attention_mask"][0]) == 3
    said = caplog.text
    assert "records left out: 1 bad json, 1 empty text, 1 null field, 1 wrong type" in said
    assert f"(the first in {path})" in said


def test_the_text_column_is_found_or_named(small_json: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("title,body\nno,hello world\n")
    with pytest.raises(OptionError, match=r"title, body hold strings; hint: name it with text_col"):
        made(small_json).tokenize(path)
    rows = made(small_json).tokenize(path, text_column="body")
    assert sum(rows["attention_mask"][0]) == 3


def test_what_is_not_there_or_damaged_is_an_error(small_json: Path, tmp_path: Path) -> None:
    tokenizer = made(small_json)
    with pytest.raises(SourceNotFound, match="no such file or folder"):
        tokenizer.tokenize(tmp_path / "none.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceNotFound, match="no file in this folder"):
        tokenizer.tokenize(tmp_path / "empty")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(lines(TEXTS))[:40])
    with pytest.raises(InputError, match="ends before its end marker"):
        tokenizer.tokenize(tmp_path / "cut.jsonl.gz")


def test_a_cache_is_used_until_a_file_changes(
    small_json: Path, tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tokenizer, cache = made(small_json, verbose_level="INFO"), tmp_path / "cache"
    first = tokenizer.tokenize(folder, cache_dir=cache).to_dict()
    assert "found in the cache" not in caplog.text
    assert tokenizer.tokenize(folder, cache_dir=cache).to_dict() == first
    assert "found in the cache" in caplog.text
    with (folder / "c.txt").open("a") as file:
        file.write(" and more")
    assert tokenizer.tokenize(folder, cache_dir=cache).to_dict() != first


@pytest.mark.parametrize("overlap", [0, 5])
def test_output_is_packed_shards_of_the_same_rows(
    small_json: Path, small: Tokenizer, tmp_path: Path, folder: Path, overlap: int
) -> None:
    manifest = made(small_json, overlap=overlap).tokenize(
        folder, output=tmp_path / "out", tail="drop"
    )
    assert isinstance(manifest, Manifest)
    wanted = slow_rows(small, TEXTS, overlap)
    found = pq.read_table(tmp_path / "out" / manifest.shards[0]["path"])["input_ids"].to_pylist()
    assert found == wanted[: len(found)]
    assert len(found) in (len(wanted), len(wanted) - 1)  # the short one is dropped
    assert tokenmill.verify(manifest.folder, full=True).ok


def test_output_takes_datasets_formats_and_limits(
    small_json: Path, small: Tokenizer, tmp_path: Path
) -> None:
    tokenizer, texts = made(small_json), datasets.Dataset.from_dict({"text": TEXTS})
    manifest = tokenizer.tokenize(texts, output=tmp_path / "a", format="bin,parquet", max_rows=3)
    assert {shard["format"] for shard in manifest.shards} == {"bin", "parquet"}
    rows = pq.read_table(tmp_path / "a" / "parquet" / "shard-00000.parquet")["input_ids"]
    assert rows.to_pylist() == slow_rows(small, TEXTS, 0)[:3]
    again = tokenizer.tokenize(texts, output=tmp_path / "a", format="bin,parquet", max_rows=3)
    assert again == manifest
    stream = tokenizer.tokenize(texts.to_iterable_dataset(), output=tmp_path / "b", max_rows=3)
    assert stream.tokens == manifest.tokens


def test_what_the_mill_does_in_its_own_way_is_logged(
    small_json: Path, tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tokenizer = made(small_json, batch_size=100)
    tokenizer.tokenize(folder, output=tmp_path / "out", cache_dir=tmp_path / "cache")
    assert "batch_size, cache_dir ignored: with output= the mill does" in caplog.text


def test_output_of_splits_is_a_folder_for_each(small_json: Path, tmp_path: Path) -> None:
    splits = {"train": TEXTS[:20], "test": TEXTS[20:]}
    dataset = datasets.DatasetDict(
        {name: datasets.Dataset.from_dict({"text": texts}) for name, texts in splits.items()}
    )
    manifests = made(small_json).tokenize(dataset, output=tmp_path / "out")
    assert {name: one.documents["out"] for name, one in manifests.items()} == {
        "train": 20,
        "test": 10,
    }
    assert Manifest.load(tmp_path / "out" / "test") == manifests["test"]


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"mask_overlap": True}, "mask_overlap: shards store no labels"),
        ({"ignore_index": -1}, "ignore_index: shards store no labels"),
        ({"pack": False}, "shards can overlap only with pack=True, got overlap 5"),
        ({"pack": False, "keep_columns": ["id"]}, "keep_columns: shards store no other columns"),
    ],
)
def test_what_shards_cannot_hold_is_refused(
    small_json: Path, tmp_path: Path, folder: Path, choice: dict[str, Any], words: str
) -> None:
    with pytest.raises(OptionError, match=words):
        made(small_json, overlap=5).tokenize(folder, output=tmp_path / "out", **choice)
    assert not (tmp_path / "out").exists()


def test_an_interrupted_output_is_resumed(
    small_json: Path, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the power is gone")

    tokenizer = made(small_json)
    with monkeypatch.context() as patch:
        patch.setattr("tokenmill._mill.run.run.Run._pack", fail)
        with pytest.raises(RuntimeError, match="the power is gone"):
            tokenizer.tokenize(folder, output=tmp_path / "out")
    parts = tmp_path / "out" / "_work" / "parts"
    assert list(parts.glob("*.json"))
    resumed = tokenizer.tokenize(folder, output=tmp_path / "out")
    once = tokenizer.tokenize(folder, output=tmp_path / "once")
    assert resumed.data == once.data


def test_a_field_that_no_record_has_is_an_error(small_json: Path, folder: Path) -> None:
    with pytest.raises(OptionError, match="text_column: no record has a field 'body'"):
        made(small_json).tokenize(str(folder / "a.jsonl"), text_column="body")
    (folder / "d.jsonl").write_text('{"body": "one"}\n{"text": "two"}\n')
    assert len(made(small_json).tokenize(str(folder / "d.jsonl"), text_column="body")) == 1


def test_an_empty_name_is_not_this_folder(small_json: Path, folder: Path) -> None:
    with pytest.raises(SourceNotFound, match="an empty name"):
        made(small_json).tokenize("")
    with pytest.raises(OptionError, match="output"):
        made(small_json).tokenize(str(folder), output="")
    with pytest.raises(OptionError, match="output: expected a folder, got an empty name"):
        tokenmill.pack(str(folder), output="", context_length=SIZE)


def test_a_transform_counts_for_shards_too(small_json: Path, tmp_path: Path) -> None:
    texts = datasets.Dataset.from_dict({"text": TEXTS})
    changed = texts.with_transform(lambda batch: {"text": [t[::-1] for t in batch["text"]]})
    made(small_json).tokenize(changed, output=tmp_path / "out", tail="drop")
    rows = made(small_json).tokenize(
        datasets.Dataset.from_dict({"text": [text[::-1] for text in TEXTS]}), tail="drop"
    )
    found = pq.read_table(tmp_path / "out" / "parquet" / "shard-00000.parquet")["input_ids"]
    assert found.to_pylist() == rows["input_ids"][:]
