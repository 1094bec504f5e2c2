"""The pages in a real browser: they fill themselves, offline, at any width."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tokenmill import pack
from tokenmill._mill.meter import Meter
from tokenmill._mill.output.work import Work
from tokenmill._mill.report.report import report
from tokenmill._mill.status import follow
from tokenmill._mill.watch.beat import Pulse
from tokenmill._mill.watch.heartbeat import HeartbeatFile
from tokenmill._mill.watch.live_page import LivePage

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium"),
]


def opened(url: str, folder: Path, width: int) -> str:
    """Return the document as it is after its scripts have run."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu",
        "--disable-background-networking", f"--user-data-dir={folder}",
        "--virtual-time-budget=3000", f"--window-size={width},900", "--dump-dom", url,
    ]  # fmt: skip
    return subprocess.run(  # noqa: S603
        command, capture_output=True, check=True, timeout=120, text=True
    ).stdout


@pytest.mark.parametrize("width", [1280, 400])
def test_a_live_page_shows_the_run(width: int, tmp_path: Path) -> None:
    work = Work(tmp_path / "out")
    work.folder.mkdir(parents=True)
    work.plan.write_text(json.dumps({"inputs": [{"size": 200}]}))
    meter = Meter(total_bytes=200, input_bytes=100, documents=1234)
    meter.began = time.perf_counter() - 10
    meter.add_bad({"<b>reason": 3})
    HeartbeatFile(work).hear(Pulse(meter).beat())
    with LivePage(str(work.output), "127.0.0.1", 0, partial(follow, work.output)) as page:
        dom = opened(page.url, tmp_path / "profile", width)
    for words in (">running<", "Phase 1 of 2", "50.0%", ">1,234<", "&lt;b&gt;reason", "<polyline"):
        assert words in dom


@pytest.mark.parametrize("width", [1280, 400])
def test_a_report_runs_no_script_of_its_texts(width: int, small_json: Path, tmp_path: Path) -> None:
    evil = "<script>document.title = 'evil'</script><img src=x onerror=\"document.title='evil'\">"
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": evil}) + "\n")
    pack(tmp_path / "a.jsonl", output=tmp_path / "out", tokenizer=small_json, context_length=32)
    (tmp_path / "r.html").write_text(report(tmp_path / "out").as_html())
    dom = opened((tmp_path / "r.html").as_uri(), tmp_path / "profile", width)
    assert "<title>Corpus report</title>" in dom
    assert "<script" not in dom
