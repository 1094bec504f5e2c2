"""`tokenmill status`: once, live on a terminal and elsewhere, and as a page."""

from __future__ import annotations

import io
import json
import re
import time
import urllib.error
import urllib.request
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tokenmill import pack
from tokenmill._cli import main, status
from tokenmill._cli._watch_screen import Screen, plain_line, rows_of
from tokenmill._mill.meter import Meter
from tokenmill._mill.output.work import HEARTBEAT, Work
from tokenmill._mill.status import follow
from tokenmill._mill.watch.beat import Pulse
from tokenmill._mill.watch.heartbeat import HeartbeatFile, replace_file
from tokenmill._mill.watch.live_page import LivePage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """A run of this process that is half done."""
    work = Work(tmp_path / "out")
    work.folder.mkdir(parents=True)
    work.plan.write_text(json.dumps({"inputs": [{"size": 200_000_000}]}))
    meter = Meter(
        total_bytes=200_000_000, input_bytes=100_000_000, documents=1234, tokens=5_600_000
    )
    meter.began = time.perf_counter() - 10
    meter.add_bad({"bad_json": 3, "bad_utf8": 1})
    HeartbeatFile(work).hear(Pulse(meter).beat())
    return work.output


@pytest.fixture
def finished(tmp_path: Path, small_json: Path) -> Path:
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    pack(tmp_path / "a.jsonl", output=tmp_path / "done", tokenizer=small_json, pack="none")
    return tmp_path / "done"


def change_beat(output: Path, **values: Any) -> None:
    path = Work(output).folder / HEARTBEAT
    replace_file(path, json.dumps({**json.loads(path.read_bytes()), **values}).encode())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def end_soon(started: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the run stop at the second look."""

    class Pause:
        def wait(self, _seconds: float) -> bool:
            change_beat(started, state="stopped")
            return False

    monkeypatch.setattr(status, "_Clock", Pause)


def test_status_says_who_is_working(started: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(started)]) == 0
    assert re.search(r"running on \S+, process \d+; --watch", capsys.readouterr().out)
    change_beat(started, process_start=1)
    assert main(["status", str(started), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["state"], facts["run"]["state"]) == ("unfinished", "died")


@pytest.mark.usefixtures("end_soon")
def test_without_a_terminal_there_are_plain_lines(
    started: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(started), "--watch"]) == 1
    first, last = capsys.readouterr().out.splitlines()
    for word in ("tokenize", "50%", "100.0 MB", "1,234 documents", "5.6 M tokens", "4 bad"):
        assert word in first
    assert "stopped; run the same command again" in last
    assert "\x1b" not in first + last


@pytest.mark.usefixtures("end_soon")
def test_json_is_a_record_on_each_line(started: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(started), "--watch", "--json"]) == 1
    records = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [record["run"]["state"] for record in records] == ["running", "stopped"]
    assert records[0]["run"]["bad_reasons"] == {"bad_json": 3, "bad_utf8": 1}


def test_a_watch_ends_with_the_run(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(finished), "--watch"]) == 0
    assert capsys.readouterr().out.startswith("finished: 1 document, ")


def test_ctrl_c_ends_a_watch(
    started: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def wait(self, _seconds: float) -> bool:
            raise KeyboardInterrupt

    monkeypatch.setattr(status, "_Clock", Interrupted)
    assert main(["status", str(started), "--watch"]) == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("columns", [24, 40, 80, 200])
@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_screen_fits_its_terminal(
    started: Path, columns: int, no_color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "40")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    screen, facts = Screen(out), next(follow(started, lambda: True))
    screen.draw("out", facts)
    once = out.getvalue()
    screen.draw("out", facts)
    bare = re.sub(r"\x1b\[[0-9]*[A-Za-z]", "", once)
    assert max(map(len, bare.splitlines())) < max(columns, 25)
    assert "50%" in bare
    assert ("\x1b[32m" in once) == (not no_color)
    again = out.getvalue()[len(once) :]
    assert again.startswith(f"\x1b[{len(bare.splitlines())}F")  # drawn over the first


def test_a_screen_shows_no_control_characters(
    started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    change_beat(started, state="failed", error="\x1b[2Jbad\nname")
    out = Terminal()
    Screen(out).draw("out\x07", next(follow(started, lambda: True)))
    assert "\x1b[2Jbad" not in out.getvalue()
    assert "\x07" not in out.getvalue()


def test_a_run_that_stands_still_is_called_that(started: Path) -> None:
    change_beat(started, still_seconds=90.0)
    facts = next(follow(started, lambda: True))
    assert "nothing has moved for 1 min 30 s" in plain_line(facts)
    assert any("nothing has moved" in row for row, _ in rows_of("out", facts, 80))


@pytest.fixture
def page(started: Path) -> Iterator[LivePage]:
    with LivePage(str(started), "127.0.0.1", 0, partial(follow, started)) as made:
        yield made


def ask(url: str, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 -- loopback
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            return answer.status, answer
    except urllib.error.HTTPError as error:
        return error.code, error


def test_a_page_and_its_json(page: LivePage) -> None:
    with urllib.request.urlopen(page.url, timeout=20) as answer:  # noqa: S310
        text = answer.read().decode()
        policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "/* include" not in text
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org)", text)  # nothing from elsewhere
    with urllib.request.urlopen(f"{page.url}status.json", timeout=20) as answer:  # noqa: S310
        state = json.loads(answer.read())
    assert state["facts"]["run"]["documents"] == 1234
    assert state["history"][0]["resident"] > 0


def test_a_page_answers_only_to_its_own_name(page: LivePage) -> None:
    assert ask(page.url + "other")[0] == 404
    assert ask(page.url, Host="evil.example:80")[0] == 403
    assert ask(page.url, Host="localhost:80")[0] == 200


def test_serving_needs_a_run_and_a_port(
    tmp_path: Path, started: Path, page: LivePage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(tmp_path / "none"), "--serve", "0"]) == 1
    assert "no run has started here" in capsys.readouterr().err
    taken = page.url.rstrip("/").rpartition(":")[2]
    assert main(["status", str(started), "--serve", taken]) == 2
    assert "cannot listen on 127.0.0.1 port" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["status", str(started), "--serve", "http"])
    assert "expected a port" in capsys.readouterr().err
