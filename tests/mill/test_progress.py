"""The progress of a run: a line on a terminal, plain lines or JSON elsewhere."""

from __future__ import annotations

import io
import json
import time
from typing import TYPE_CHECKING

import pytest

from tokenmill import Manifest, OptionError
from tokenmill._cli import main
from tokenmill._mill import progress
from tokenmill._mill.meter import Meter
from tokenmill._mill.progress import Progress
from tokenmill._stats import StageTotal, WordCounts

if TYPE_CHECKING:
    from pathlib import Path


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def meter() -> Meter:
    """A run that is half done."""
    half = Meter(total_bytes=200_000_000, input_bytes=100_000_000, documents=1234, tokens=5_600_000)
    half.began = time.perf_counter() - 10
    with half.worker():
        half.count({"parse": StageTotal(7.0)}, WordCounts(), threads=1)
    return half


def shown(meter: Meter, kind: str, out: io.StringIO) -> str:
    with Progress(meter, kind, out):
        while not out.getvalue():
            time.sleep(0.01)
    return out.getvalue()


@pytest.mark.parametrize(
    ("out", "begin"), [(io.StringIO(), "tokenize"), (Terminal(), "\r[##########")]
)
def test_a_line_has_what_one_wants_to_know(
    meter: Meter, out: io.StringIO, begin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.01)
    monkeypatch.setenv("COLUMNS", "200")
    text = shown(meter, "auto", out)
    assert text.startswith(begin)
    for word in ("50%", "100 MB", "1,234 documents", "5.6 M tokens", "10 MB/s", "memory"):
        assert word in text
    assert "mostly parsing" in text
    assert "0:10 left" in text


@pytest.mark.parametrize("columns", [40, 80])
def test_a_bar_fits_the_terminal(
    meter: Meter, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = shown(meter, "bar", Terminal()).split("\r")
    assert max(map(len, lines)) == columns - 1
    assert "50%" in lines[1]


def test_the_last_record_is_that_of_the_whole_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.dumps({"text": f"document {number}"}) for number in range(50)]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, "{"]))
    command = ["pack", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "out")]
    assert main([*command, "--context-length", "64", "--progress", "json", "--json"]) == 0
    record = json.loads(capsys.readouterr().err.splitlines()[-1])
    manifest = Manifest.load(tmp_path / "out")
    assert (record["phase"], record["done"], record["bad"]) == ("pack", 1.0, 1)
    assert (record["documents"], record["tokens"]) == (50, manifest.tokens["in"])
    assert (record["shards"], record["total_shards"]) == (1, 1)
    assert record["input_bytes"] == record["total_bytes"] == (tmp_path / "a.jsonl").stat().st_size


def test_kinds_are_named(meter: Meter) -> None:
    with pytest.raises(OptionError, match="progress: expected one of 'auto', 'bar'"):
        Progress(meter, "loud")
