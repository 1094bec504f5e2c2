"""`tokenmill pretokenize` on datasets by name: presets, the hub, streams, and what goes wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.slow_cut import TEXTS, HubRows, fake_datasets, rows_of, slow_rows

from tokenmill._cli import main
from tokenmill._errors import SourceNotFound
from tokenmill._mill.plan.presets import HubDataset, find_dataset, read_presets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tokenmill import Tokenizer


def test_a_stream_that_was_stopped_starts_again(
    run: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    small: Tokenizer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Broken:
        features = None

        def __iter__(self) -> Iterator[dict[str, str]]:
            yield {"text": TEXTS[0]}
            raise KeyboardInterrupt

    class Whole(Broken):
        def __iter__(self) -> Iterator[dict[str, str]]:
            yield from ({"text": text} for text in TEXTS)

    streams = iter([Broken(), Whole()])
    fake_datasets(monkeypatch, lambda *_, **__: iter(next(streams)))
    assert run("--dataset", "owner/name", "--streaming", "--text-column", "text") == 130
    assert "stopped; the same command starts again from the beginning" in capsys.readouterr().err
    assert run("--dataset", "owner/name", "--streaming", "--text-column", "text") == 0
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)


def test_a_preset_is_loaded_by_its_facts(
    run: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    small: Tokenizer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[tuple[Any, ...]] = []

    def load(hub: str, config: str, **keywords: Any) -> HubRows:
        asked.append((hub, config, keywords))
        return HubRows(TEXTS)

    fake_datasets(monkeypatch, load)
    assert run("--dataset", "finewebedu", "--batch-size", "5000", "--cache-dir", "data/") == 0
    keywords = {"split": "train", "revision": None, "streaming": False, "cache_dir": "data/"}
    assert asked == [("HuggingFaceFW/fineweb-edu", "sample-10BT", keywords)]
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)
    assert "dataset     HuggingFaceFW/fineweb-edu, sample-10BT, train: " in capsys.readouterr().err
    assert run("--dataset", "finewebedu", "--config", "sample-100BT") == 1  # another dataset
    assert "sources[0].name" in capsys.readouterr().err


def test_a_dataset_of_the_hub_may_name_another_column(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: Tokenizer
) -> None:
    fake_datasets(monkeypatch, lambda *_, **__: HubRows(TEXTS, "body"))
    assert run("--dataset", "owner/name", "--text-column", "body") == 0
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)


def test_an_endless_stream_is_read_as_far_as_max_chunks_needs(
    run: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    small: Tokenizer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "hello world " * 5_000

    class Endless:
        features = None

        def __iter__(self) -> Iterator[dict[str, str]]:
            while True:
                yield {"text": text}

    fake_datasets(monkeypatch, lambda *_, **__: Endless())
    assert run("--dataset", "fineweb", "--streaming", "--max-chunks", "3") == 0
    assert rows_of(tmp_path / "out") == slow_rows(small, [text])[:3]
    assert "resume      not possible: a stream always starts" in capsys.readouterr().err


def test_the_text_column_of_a_stream_is_found_by_its_first_row(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: Tokenizer
) -> None:
    class Streamed:
        features = None

        def __iter__(self) -> Iterator[dict[str, Any]]:
            return iter([{"id": 5, "body": text} for text in TEXTS])

    fake_datasets(monkeypatch, lambda *_, **__: Streamed())
    assert run("--dataset", "owner/name", "--streaming") == 0
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionError("no route"), "the hub cannot be reached, and the dataset is not in the"),
        (FileNotFoundError("no such repository"), "not found on the hub, or you have no access"),
        (ValueError("Unknown split 'tran'"), "cannot be loaded: Unknown split 'tran'"),
    ],
)
def test_a_refusal_of_the_hub_is_explained(
    run: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    words: str,
) -> None:
    def load(*_: object, **__: object) -> None:
        raise error

    fake_datasets(monkeypatch, load)
    assert run("--dataset", "c4") == 1
    assert words in capsys.readouterr().err


def test_without_datasets_the_error_names_how_to_install_it(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert run("--dataset", "c4") == 1
    assert "hint: pip install 'tokenmill[hf]'" in capsys.readouterr().err


def test_an_unknown_name_gets_the_nearest_names(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--dataset", "FineWebEdu-10b") == 1
    printed = capsys.readouterr().err
    assert "not a preset, a file or a folder" in printed
    assert "did you mean finewebedu" in printed


def test_names_mean_presets_then_paths_then_ids_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c4").mkdir()
    (tmp_path / "owner" / "name").mkdir(parents=True)
    assert find_dataset("c4") == read_presets()["c4"]
    assert find_dataset("./c4") == "./c4"
    assert find_dataset("owner/name") == "owner/name"
    assert find_dataset("owner/other") == HubDataset("owner/other")
    assert find_dataset("data/*.jsonl") == "data/*.jsonl"
    for wrong in ("./nowhere", "a/b/c", "nothing"):
        with pytest.raises(SourceNotFound):
            find_dataset(wrong)


def test_every_preset_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    for name, preset in read_presets().items():
        assert preset.hub.count("/") == 1, name
        assert all((preset.split, preset.column, preset.note)), name
    assert main(["pretokenize", "--list-datasets"]) == 0
    assert set(read_presets()) <= set(capsys.readouterr().out.split())
