"""Datasets of the hub in the mill: the real `datasets`, with local files instead of the hub."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

datasets = pytest.importorskip("datasets", reason="the extra `test` has it")

import pyarrow.parquet as pq  # noqa: E402 -- after checking that datasets is there

from tokenmill import Manifest, Tokenizer  # noqa: E402
from tokenmill._cli import main  # noqa: E402
from tokenmill._errors import InputError, SourceNotFound  # noqa: E402
from tokenmill._mill.plan.hub import load_source  # noqa: E402
from tokenmill._mill.plan.presets import HubDataset  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXTS = [f"hello world {n}, hello again" * (n % 4 + 1) for n in range(2500)]
SIZE = 64


@pytest.fixture
def run(
    small_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, Path]]:
    """The command on a dataset in two files, and where its output is."""
    for number in range(2):
        rows = [{"body": text, "id": n} for n, text in enumerate(TEXTS[number::2])]
        path = tmp_path / f"part-{number}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    real = datasets.load_dataset

    def load(*_: object, split: str, streaming: bool, cache_dir: str, revision: object) -> Any:
        del revision
        files = str(tmp_path / "part-*.jsonl")
        return real("json", data_files=files, split=split, streaming=streaming, cache_dir=cache_dir)

    monkeypatch.setattr(datasets, "load_dataset", load)

    def call(name: str, *arguments: str) -> tuple[int, Path]:
        always = ["-t", str(small_json), "--chunk-size", str(SIZE), "-o", str(tmp_path / name)]
        always += ["--cache-dir", str(tmp_path / "data"), "--dataset", "owner/name"]
        return main(["pretokenize", *always, *arguments]), tmp_path / name

    return call


def rows_of(output: Path) -> list[list[int]]:
    files = [output / shard["path"] for shard in Manifest.load(output).shards]
    return [row for file in files for row in pq.read_table(file)["input_ids"].to_pylist()]


def slow_rows(tokenizer: Tokenizer) -> list[list[int]]:
    eos = tokenizer.special_tokens["</s>"]
    texts = TEXTS[0::2] + TEXTS[1::2]
    ids = [i for text in texts for i in [*tokenizer.encode(text).tolist(), eos]]
    return [ids[i : i + SIZE] for i in range(0, len(ids), SIZE)]


def test_a_downloaded_and_a_streamed_dataset_give_the_rows_of_the_slow_cut(
    run: Callable[..., tuple[int, Path]], small: Tokenizer
) -> None:
    for name, options in (("down", []), ("stream", ["--streaming"])):
        status, output = run(name, *options)
        assert status == 0
        assert rows_of(output) == slow_rows(small)


def test_batch_size_never_changes_a_byte(run: Callable[..., tuple[int, Path]]) -> None:
    outputs = [run(f"out{size}", "--batch-size", size)[1] for size in ("1", "999", "5000")]
    for name in ("parquet/shard-00000.parquet", "documents.parquet", "manifest.json"):
        assert len({(output / name).read_bytes() for output in outputs}) == 1, name


def test_a_downloaded_dataset_is_resumed_and_known_again(
    run: Callable[..., tuple[int, Path]],
    monkeypatch: pytest.MonkeyPatch,
    small: Tokenizer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tokenmill._mill.run.run.Run._pack", fail)
        status, output = run("out")
    assert status == 130
    assert list((output / "_work" / "parts").glob("*.json"))
    with monkeypatch.context() as patch:  # what is tokenized is not tokenized again
        patch.setattr("tokenmill._mill.run.encode.BlockEncoder.__call__", fail)
        assert run("out")[0] == 0
    assert rows_of(output) == slow_rows(small)
    assert run("out")[0] == 0
    assert "is already finished" in capsys.readouterr().err


def test_the_hub_that_cannot_be_reached_and_a_wrong_name_are_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="the hub cannot be reached, and the dataset is not in"):
        load_source(HubDataset("owner/name"))

    def missing(*_: object, **__: object) -> None:
        raise datasets.exceptions.DatasetNotFoundError("Dataset 'owner/name' doesn't exist")

    monkeypatch.setattr(datasets, "load_dataset", missing)
    with pytest.raises(
        SourceNotFound, match="not found on the hub, or you have no access: Dataset"
    ):
        load_source(HubDataset("owner/name"))
