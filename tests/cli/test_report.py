"""`tokenmill report`: a page, JSON, and what it says when something is wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tokenmill import pack
from tokenmill._cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, small_json: Path) -> Path:
    folder = tmp_path_factory.mktemp("report")
    lines = [json.dumps({"text": f"document {number}"}) for number in range(30)]
    (folder / "a.jsonl").write_text("\n".join([*lines, "{"]))
    pack(folder / "a.jsonl", output=folder / "out", tokenizer=small_json, context_length=32)
    return folder / "out"


def test_a_page_and_the_same_as_json(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.html"
    assert main(["report", str(packed), "-o", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert facts["documents"]["out"] == 30
    assert [each["reason"] for each in facts["quarantine"]["reasons"]] == ["bad_json"]
    assert str(path) in printed.err
    assert path.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["-o", "no/folder/report.html"], 1, "cannot be written"),
        (["--json", "--sample", "2"], 2, "--sample: expected a share"),
        (["--json", "--language", "guess"], 2, "--language: expected auto"),
    ],
)
def test_errors_name_the_option(
    packed: Path,
    arguments: list[str],
    status: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", str(packed), *arguments]) == status
    assert words in capsys.readouterr().err


def test_a_report_needs_a_finished_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path), "--json"]) == 1
    assert "no manifest.json here" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "gone")]) == 1
    assert "gone: no such folder; hint: is the path right?" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(tmp_path)])
    assert "expected -o FILE" in capsys.readouterr().err
