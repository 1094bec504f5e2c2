"""`tokenmill pretokenize`: rows as slow Python cuts them, from folders and datasets by name."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tokenmill import Manifest
from tokenmill._causal.presets import HubDataset, find_dataset, read_presets
from tokenmill._cli import main
from tokenmill._errors import SourceNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokenmill import Tokenizer

TEXTS = [f"hello world {n}, hello again" * (n % 4 + 1) for n in range(40)]
SIZE = 16


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A folder of two files."""
    folder = tmp_path / "raw"
    folder.mkdir()
    write_jsonl(folder / "a.jsonl", TEXTS[:25])
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(TEXTS[25:])))
    return folder


def lines(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def write_jsonl(path: Path, texts: list[str]) -> None:
    path.write_bytes(lines(texts))


def slow_rows(
    tokenizer: Tokenizer, texts: list[str], *, eos: bool = True, overlap: int = 0
) -> list[list[int]]:
    """Cut the stream of all documents, with the last row as short as it is."""
    end = [tokenizer.special_tokens["</s>"]] if eos else []
    ids = [i for text in texts for i in [*tokenizer.encode(text).tolist(), *end]]
    rows, begin = [], 0
    while True:
        rows.append(ids[begin : begin + SIZE])
        if begin + SIZE >= len(ids):
            return rows
        begin += SIZE - overlap


def rows_of(output: Path) -> list[list[int]]:
    files = [output / shard["path"] for shard in Manifest.load(output).shards]
    return [row for file in files for row in pq.read_table(file)["input_ids"].to_pylist()]


@pytest.fixture
def run(small_json: Path, tmp_path: Path) -> Callable[..., int]:
    """The command with the small tokenizer, rows of SIZE, and the output `out`."""

    def call(*arguments: str | Path) -> int:
        always = ("-t", small_json, "--chunk-size", SIZE, "--output", tmp_path / "out")
        return main(["pretokenize", *map(str, (*always, *arguments))])

    return call


def fake_datasets(monkeypatch: pytest.MonkeyPatch, load: Callable[..., Any]) -> None:
    module = ModuleType("datasets")
    module.load_dataset = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)


class Rows:
    """What the mill asks of a dataset that is downloaded: rows by number, and a fingerprint."""

    def __init__(self, texts: list[str], name: str = "text") -> None:
        self._rows = [{"id": str(n), name: text} for n, text in enumerate(texts)]
        self._fingerprint = str(hash(tuple(texts)))
        self.column_names = ["id", name]

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter(self._rows)

    def __getitem__(self, number: int) -> dict[str, str]:
        return self._rows[number]


def test_rows_of_a_folder_are_those_of_the_slow_cut(
    run: Callable[..., int], raw: Path, tmp_path: Path, small: Tokenizer
) -> None:
    assert run("--input-dir", raw) == 0
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)


@pytest.mark.parametrize("options", [("--no-eos",), ("--overlap", "5"), ("--overlap", "15")])
def test_options_of_rows_change_them_as_the_slow_cut_says(
    run: Callable[..., int], raw: Path, tmp_path: Path, small: Tokenizer, options: tuple[str, ...]
) -> None:
    assert run("--input-dir", raw, *options) == 0
    overlap = int(options[1]) if options[0] == "--overlap" else 0
    assert rows_of(tmp_path / "out") == slow_rows(
        small, TEXTS, eos=options[0] != "--no-eos", overlap=overlap
    )


def test_options_of_running_never_change_a_byte(
    run: Callable[..., int], raw: Path, tmp_path: Path
) -> None:
    run("--input-dir", raw)
    options = ("--num-workers", "3", "--prefetch-files", "2", "--batch-size", "7", "--quiet")
    run("--input-dir", raw, "--output-dir", tmp_path / "other", *options)
    for path in sorted((tmp_path / "out").rglob("*.*")):
        if path.is_file() and path.name != ".lock":
            assert (
                path.read_bytes()
                == (tmp_path / "other" / path.relative_to(tmp_path / "out")).read_bytes()
            )


def test_sequences_per_chunk_are_the_rows_of_a_file(
    run: Callable[..., int], raw: Path, tmp_path: Path, small: Tokenizer
) -> None:
    run("--input-dir", raw, "--sequences-per-chunk", "9")
    rows = slow_rows(small, TEXTS)
    found = [shard["rows"] for shard in Manifest.load(tmp_path / "out").shards]
    assert found == [9] * (len(rows) // 9) + ([len(rows) % 9] if len(rows) % 9 else [])
    assert rows_of(tmp_path / "out") == rows


def test_max_chunks_are_the_first_rows(
    run: Callable[..., int], raw: Path, tmp_path: Path, small: Tokenizer
) -> None:
    run("--input-dir", raw, "--max-chunks", "4", "--overlap", "3")
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS, overlap=3)[:4]


def test_files_that_cannot_be_read_are_named_and_the_others_packed(
    run: Callable[..., int],
    raw: Path,
    tmp_path: Path,
    small: Tokenizer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut = gzip.compress(lines(TEXTS))
    (raw / "a.cut.jsonl.gz").write_bytes(cut[: len(cut) // 2])
    (raw / "a.damaged.parquet").write_bytes(b"PAR1 is not enough PAR1")
    (raw / "z.gone.jsonl").symlink_to(raw / "nowhere")
    assert run("--input-dir", raw) == 4
    said = capsys.readouterr().err
    assert "3 of the files cannot be read" in said
    assert f"{raw}/a.cut.jsonl.gz: at byte" in said
    assert f"{raw}/z.gone.jsonl: cannot be read: No such file" in said
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)
    assert Manifest.load(tmp_path / "out").documents["skipped"] == {"bad_file": 3}
    assert Manifest.load(tmp_path / "out").verify(full=True).ok
    assert run("--input-dir", raw, "--json") == 4  # also when there is nothing left to do
    told = json.loads(capsys.readouterr().out)
    assert [Path(one["file"]).name for one in told["failed"]] == [
        "a.cut.jsonl.gz",
        "a.damaged.parquet",
        "z.gone.jsonl",
    ]


def test_a_table_without_the_column_is_a_file_that_fails(
    run: Callable[..., int], tmp_path: Path, small: Tokenizer
) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.csv").write_text("title\nhello\n")
    (tmp_path / "raw" / "b.csv").write_text("text\nhello world\n")
    assert run("--input-dir", tmp_path / "raw", "--text-column", "text") == 4
    assert rows_of(tmp_path / "out") == slow_rows(small, ["hello world"])


def test_a_folder_of_nothing_but_damage_is_an_error(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.parquet").write_bytes(b"nothing of the kind")
    assert run("--input-dir", tmp_path / "raw") == 1
    assert "a.parquet: the parquet data is damaged" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_is_an_error(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw").mkdir()
    assert run("--input-dir", tmp_path / "raw") == 1
    assert "no file in this folder has a suffix that is known" in capsys.readouterr().err


def test_a_stopped_run_goes_on_to_the_same_bytes(
    run: Callable[..., int],
    raw: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tokenmill._pipeline.run.Run._pack", stop)
        assert run("--input-dir", raw) == 130
    assert "stopped; the same command goes on from here" in capsys.readouterr().err
    assert run("--input-dir", raw) == 0
    assert "of input were done by an earlier run" in capsys.readouterr().err
    assert run("--input-dir", raw, "--output", tmp_path / "once") == 0
    for name in ("manifest.json", "parquet/shard-00000.parquet", "documents.parquet"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "once" / name).read_bytes()


def test_a_stream_that_was_stopped_begins_anew(
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
    assert "stopped; the same command begins anew" in capsys.readouterr().err
    assert run("--dataset", "owner/name", "--streaming", "--text-column", "text") == 0
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)


def test_another_command_on_the_same_output_is_refused_but_for_force(
    run: Callable[..., int], raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--input-dir", raw) == 0
    assert run("--input-dir", raw, "--overlap", "2") == 1
    assert "options.overlap: 0 there, 2 now" in capsys.readouterr().err
    assert run("--input-dir", raw, "--overlap", "2", "--force") == 0


def test_a_preset_is_loaded_by_its_facts(
    run: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    small: Tokenizer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[tuple[Any, ...]] = []

    def load(hub: str, config: str, **keywords: Any) -> Rows:  # noqa: ANN401
        asked.append((hub, config, keywords))
        return Rows(TEXTS)

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
    fake_datasets(monkeypatch, lambda *_, **__: Rows(TEXTS, "body"))
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
    assert (
        "resume      not possible: a stream is read from its beginning" in capsys.readouterr().err
    )


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
        (FileNotFoundError("no such repository"), "not found on the hub, or not open to you"),
        (ValueError("Unknown split 'tran'"), "cannot be loaded: Unknown split 'tran'"),
    ],
)
def test_what_the_hub_refuses_is_said_in_words(
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


def test_without_datasets_the_way_to_install_it_is_said(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert run("--dataset", "c4") == 1
    assert "hint: pip install 'tokenmill[hf]'" in capsys.readouterr().err


def test_a_name_that_is_nothing_is_answered_with_near_names(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--dataset", "FineWebEdu-10b") == 1
    said = capsys.readouterr().err
    assert "no preset, file or folder of that name" in said
    assert "did you mean finewebedu" in said


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


def test_every_preset_says_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    for name, preset in read_presets().items():
        assert preset.hub.count("/") == 1, name
        assert all((preset.split, preset.column, preset.note)), name
    assert main(["pretokenize", "--list-datasets"]) == 0
    assert set(read_presets()) <= set(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--chunk-size", "8", "-o", "out"], "expected one of --dataset NAME and --input-dir"),
        (["--dataset", "c4", "--input-dir", "x", "--chunk-size", "8"], "expected one of"),
        (["--dataset", "c4", "-o", "out"], "required: --chunk-size"),
        (["--dataset", "c4", "--chunk-size", "8"], "required: --output"),
        (["--dataset", "c4", "--chunk-size", "0"], "expected a whole number of at least 1"),
        (["--input-dir", "x", "--chunk-size", "8", "-o", "o", "--eos", "--no-eos"], "contradict"),
    ],
)
def test_a_wrong_command_is_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["pretokenize", *arguments])
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err


def test_the_help_says_which_options_decide_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["pretokenize", "--help"])
    groups = dict(
        part.split(":\n", 1) for part in capsys.readouterr().out.split("\n\n") if ":\n" in part
    )
    decide = groups["inputs (these decide the result)"] + groups["rows (these decide the result)"]
    stored = groups["files (these decide how rows are stored, never a row)"]
    never = groups["running (never changes the result)"]
    for name in ("--dataset", "--input-dir", "--streaming", "--chunk-size", "--max-chunks"):
        assert name in decide
    assert "--sequences-per-chunk" in stored
    for name in ("--num-workers", "--batch-size", "--prefetch-files", "--cache-dir", "--force"):
        assert name in never


def test_options_without_effect_on_files_are_named(
    run: Callable[..., int], raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--dataset", raw, "--streaming", "--cache-dir", "x") == 0
    assert "ignored     --streaming, --cache-dir: the input is files" in capsys.readouterr().err
