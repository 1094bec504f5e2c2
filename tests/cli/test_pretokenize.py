"""`tokenmill pretokenize` on files: rows as slow Python cuts them, files that fail, resuming."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.slow_cut import TEXTS, lines, rows_of, slow_rows

from tokenmill import Manifest, verify
from tokenmill._cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill import Tokenizer


def test_rows_of_a_folder_are_those_of_the_slow_cut(
    run: Callable[..., int], raw: Path, tmp_path: Path, small: Tokenizer
) -> None:
    assert run("--input-dir", raw) == 0
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)


@pytest.mark.parametrize("options", [("--no-eos",), ("--overlap", "5"), ("--overlap", "15")])
def test_options_of_rows_change_them_as_in_the_slow_cut(
    run: Callable[..., int], raw: Path, tmp_path: Path, small: Tokenizer, options: tuple[str, ...]
) -> None:
    assert run("--input-dir", raw, *options) == 0
    overlap = int(options[1]) if options[0] == "--overlap" else 0
    assert rows_of(tmp_path / "out") == slow_rows(
        small, TEXTS, eos=None if options[0] == "--no-eos" else "</s>", overlap=overlap
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
    printed = capsys.readouterr().err
    assert "3 files could not be read; the output holds no part of them:" in printed
    assert f"{raw}/a.cut.jsonl.gz: at byte" in printed
    assert f"{raw}/z.gone.jsonl: cannot be read: No such file" in printed
    assert rows_of(tmp_path / "out") == slow_rows(small, TEXTS)
    assert Manifest.load(tmp_path / "out").documents["skipped"] == {"bad_file": 3}
    assert verify(tmp_path / "out", full=True).ok
    assert run("--input-dir", raw, "--json") == 4  # also when there is nothing left to do
    facts = json.loads(capsys.readouterr().out)
    assert [Path(one["file"]).name for one in facts["failed"]] == [
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
    assert "no file in this folder has a known suffix" in capsys.readouterr().err


def test_a_stopped_run_resumes_to_the_same_bytes(
    run: Callable[..., int],
    raw: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tokenmill._mill.run.run.Run._pack", stop)
        assert run("--input-dir", raw) == 130
    assert "stopped; the same command resumes from here" in capsys.readouterr().err
    assert run("--input-dir", raw) == 0
    assert "of input were done by an earlier run" in capsys.readouterr().err
    assert run("--input-dir", raw, "--output", tmp_path / "once") == 0
    for name in ("manifest.json", "parquet/shard-00000.parquet", "documents.parquet"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "once" / name).read_bytes()


def test_another_command_on_the_same_output_is_refused_but_for_force(
    run: Callable[..., int], raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--input-dir", raw) == 0
    assert run("--input-dir", raw, "--overlap", "2") == 1
    assert "options.overlap: 0 in the output, 2 now" in capsys.readouterr().err
    assert run("--input-dir", raw, "--overlap", "2", "--force") == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--chunk-size", "8", "-o", "out"], "give either --dataset NAME or --input-dir FOLDER"),
        (["--dataset", "c4", "--input-dir", "x", "--chunk-size", "8"], "give either"),
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


def test_the_help_groups_options_by_what_they_decide(capsys: pytest.CaptureFixture[str]) -> None:
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
