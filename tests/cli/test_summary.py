"""What `tokenmill pack` prints about the sample: short lines, and numbers that add up."""

from __future__ import annotations

import gzip
import re
import runpy
from base64 import b64encode
from pathlib import Path

import pytest

from tokenmill._cli import main
from tokenmill._mill import progress

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "examples" / "data" / "corpus"
WIDTH = 100


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # On a slow machine, lines of progress would appear among those that are checked.
    monkeypatch.setattr(progress, "_LINE_SECONDS", 10**6)
    (tmp_path / "data").symlink_to(CORPUS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments]) == 0
    text = capsys.readouterr()
    return text.err + text.out


def numbers_under(label: str, text: str) -> list[int]:
    """Return the signed numbers of a label's line and of the lines below it."""
    block = re.search(rf"^{label} .*\n(?: .*\n)*", text, re.MULTILINE)
    assert block is not None
    return [int(n.replace(",", "")) for n in re.findall(r"^.{12}\s*([-+]?[\d,]+)", block[0], re.M)]


def test_accounts_add_up_and_lines_are_short(
    in_a_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed_by(
        capsys, "pack", "data/*", "-o", "packed", "--context-length", "512", "--format",
        "bin,parquet", "--validation", "5%", "--max-tokens", "60000", "--tail", "pad",
    )  # fmt: skip
    assert max(map(len, text.splitlines())) <= WIDTH
    documents, tokens = numbers_under("documents", text), numbers_under("tokens", text)
    assert sum(documents[:-1]) == documents[-1] > 0
    assert sum(tokens[:-1]) == tokens[-1] > 0
    assert "data/dictionary.jsonl:13" in text
    assert "bin validation" in text
    assert f"quarantined {11:>12}" in text


def test_nothing_skipped_is_one_line(in_a_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["pack", "data/constitution.jsonl.zst", "-o", "packed", "--context-length", "512"]
    text = printed_by(capsys, *command)
    assert "read, all of them packed" in text
    assert "quarantined" not in text
    assert "nothing to do" in printed_by(capsys, *command)
    assert "finished" in printed_by(capsys, "status", "packed")


def test_a_plan_is_short(in_a_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed_by(capsys, "plan", "data/*", "--context-length", "512")
    assert max(map(len, text.splitlines())) <= WIDTH
    assert numbers_under("tokens", text)[0] > 0
    assert sorted(in_a_folder.iterdir()) == [in_a_folder / "data"]


def test_the_sample_can_be_made_again() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "make_sample.py"))
    files: dict[str, bytes] = made["make"]()
    assert sorted(files) == sorted(path.name for path in CORPUS.iterdir())
    unpack = {".gz": gzip.decompress, ".zst": made["zstd"].decompress, ".jsonl": bytes}
    for name, content in files.items():
        plain = unpack[Path(name).suffix]  # other versions of a library compress otherwise
        assert plain((CORPUS / name).read_bytes()) == plain(content)


def test_ranks_are_split_by_their_pattern(
    in_a_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = [f"{b64encode(bytes([byte])).decode()} {byte}" for byte in range(256)]
    (in_a_folder / "bytes.tiktoken").write_text("\n".join(ranks))
    tokenizer = ["-t", "bytes.tiktoken", "--pattern", r"\w+|\W+", "--no-eos"]
    text = printed_by(capsys, "pack", "data/constitution.jsonl.zst", "-o", "packed", *tokenizer)
    assert numbers_under("documents", text) == [54]
