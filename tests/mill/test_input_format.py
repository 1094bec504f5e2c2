"""The format of inputs whose names do not tell it: stdin, and files without a known suffix."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tokenmill import Manifest, OptionError, pack, verify

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

CSV = 'id,text\n1,"hello, ""world"""\n2,"two\nlines"\n3,third\n'
TSV = "id\ttext\n1\thello world\n2\tthird\n"


def run(source: Any, tokenizer: Tokenizer, output: Path, **options: Any) -> Manifest:
    return pack(source, output=output, tokenizer=tokenizer, pack="none", **options)


def ids(output: Path) -> bytes:
    return (output / "bin" / "shard-00000.bin").read_bytes()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["csv", "tsv"])
def test_a_pipe_is_read_as_the_file_is(
    name: str, packed: bool, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text = tmp_path / f"a.{name}", CSV if name == "csv" else TSV
    path.write_text(text)
    body = gzip.compress(text.encode()) if packed else text.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))
    wanted = run(path, tokenizer, tmp_path / "file")
    found = run("-", tokenizer, tmp_path / "pipe", input_format=name)
    assert found.documents == wanted.documents
    assert found.documents["out"] == (3 if name == "csv" else 2)
    assert ids(tmp_path / "pipe") == ids(tmp_path / "file")


def test_the_command_reads_csv_from_a_pipe(tmp_path: Path, small_json: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tokenmill",
        "pack",
        "-",
        "--input-format",
        "csv",
        "--delimiter",
        ";",
    ]
    options = ["-t", str(small_json), "--pack", "none", "-o", str(tmp_path / "out")]
    text = CSV.replace("1,", "1;").replace("2,", "2;").replace("3,", "3;").replace("d,t", "d;t")
    done = subprocess.run(  # noqa: S603
        [*command, *options], input=text.encode(), check=True, capture_output=True
    )
    assert b"text field  text (detected, -)" in done.stderr
    assert Manifest.load(tmp_path / "out").documents["out"] == 3


def test_a_file_without_a_suffix_is_known_again_and_a_suffix_comes_first(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "table").write_text(CSV)
    (tmp_path / "b.txt").write_text(CSV)
    inputs = [tmp_path / "table", tmp_path / "b.txt"]
    manifest = run(inputs, tokenizer, tmp_path / "out", input_format="csv")
    assert [entry["format"] for entry in manifest.data["plan"]["inputs"]] == ["csv", "text"]
    assert manifest.documents["out"] == 3 + 1
    assert verify(tmp_path / "out", full=True, tokenizer=tokenizer).problems == []


def test_an_unknown_format_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "table").write_text(CSV)
    with pytest.raises(OptionError, match="input_format: expected one of 'jsonl', 'text', 'csv'"):
        run(tmp_path / "table", tokenizer, tmp_path / "out", input_format="xml")
