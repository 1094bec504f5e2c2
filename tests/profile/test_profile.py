"""`tokenmill profile`: a command as a child, its counters, its exit status, its functions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.advice.causes import jsonl, prose

from tokenmill._cli import main
from tokenmill._profile import tools
from tokenmill._profile.hot import allocations, hot_functions
from tokenmill._profile.profile import profile, python_target
from tokenmill._record.file import VARIABLE, read_records

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
import tokenmill
tokenizer = tokenmill.Tokenizer.load()
print(len(tokenizer.encode_batch(["hello world"] * 10)))
del tokenizer
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_reports_its_calls_and_its_exit_status(
    script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "--with", "none", "--", sys.executable, str(script), "3"]) == 3
    out = capfd.readouterr().out
    assert out.startswith("10\n")
    assert "exit status 3" in out
    assert "calls with builtin: 10 documents, 1 thread" in out
    assert "looked up" in out


def test_json_is_alone_on_stdout(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, str(script), "0"]
    assert main(["profile", "--with", "none", "--json", "--", *command]) == 0
    out, err = capfd.readouterr()
    report = json.loads(out)
    assert err == "10\n"
    assert report["command"] == command
    (run,) = report["runs"]
    assert (run["kind"], run["documents"], run["hints"]) == ("calls", 10, [])


def test_files_go_through_pack_and_leave_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(50)]))
    command = ["profile", "tokenize", str(tmp_path / "a.jsonl"), "--with", "none", "--json"]
    assert main([*command, "--work", str(tmp_path / "work"), "--workers", "1"]) == 0
    (run,) = json.loads(capfd.readouterr().out)["runs"]
    assert (run["kind"], run["documents"], run["stats"]["threads"]) == ("pack", 50, 1)
    assert run["stats"]["words"]["looked_up"] > 0
    assert run["files"][0]["compression"] is None
    assert list((tmp_path / "work").iterdir()) == []


def test_a_command_without_a_tokenizer(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--with", "none", "--", sys.executable, "-c", "print(1)"]) == 0
    assert "No tokenizer of tokenmill was used" in capfd.readouterr().out


def test_a_command_that_does_not_exist(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--with", "none", "--", "no-such-command"]) == 127
    assert "no-such-command: cannot be started: No such file" in capfd.readouterr().err


def test_ctrl_c_stops_the_command_and_shows_what_it_did(tmp_path: Path) -> None:
    waits = "import time, tokenmill; t = tokenmill.Tokenizer.load(); t.encode_batch(['a'] * 7)\n"
    waits += "print('ready', flush=True); time.sleep(100)"
    command = [sys.executable, "-m", "tokenmill", "profile", "--with", "none", "--"]
    with subprocess.Popen(  # noqa: S603
        [*command, sys.executable, "-c", waits],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        out = process.stdout.read()
    assert process.returncode == 130
    assert "calls with builtin: 7 documents" in out
    assert "stopped by Ctrl-C" in out


def test_every_process_adds_a_line(script: Path) -> None:
    code = f"import subprocess, sys; [subprocess.run([sys.executable, {str(script)!r}, '0'])" + (
        " for _ in range(3)]"
    )
    report = profile([sys.executable, "-c", code], "none", quiet_output=True)
    assert len(report.processes) == 3
    assert len({process.pid for process in report.processes}) == 3
    assert all(process.cpu_seconds > 0 and process.peak_mb > 1 for process in report.processes)


def test_nothing_is_written_without_the_variable(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    command = [sys.executable, str(script), "0"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    assert read_records(tmp_path / "stats") == []
    code = "import sys, tokenmill; tokenmill.Tokenizer.load(); print('tokenmill._record.file' in sys.modules)"  # noqa: E501
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)  # noqa: S603
    assert done.stdout == b"False\n"


def test_a_missing_or_refused_sampler_is_one_line(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "pip install py-spy" in tools.find_py_spy().why_not
    fake = tmp_path / "py-spy"
    fake.write_text("#!/bin/sh\necho 'Error: Permission Denied: Try again' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = tools.find_py_spy()
    assert found.program is None
    assert "SYS_PTRACE" in found.why_not
    fake.write_text("#!/bin/sh\necho 'Error: something else' >&2\nexit 1\n")
    assert tools.find_py_spy().why_not == "py-spy failed: something else"
    fake.write_text("#!/bin/sh\nexit 0\n")
    assert tools.find_py_spy().program == str(fake)


def test_the_function_at_the_end_of_a_stack_counts(tmp_path: Path) -> None:
    lines = [
        "a (x.py:1);b (x.py:22) 3",
        "a (x.py:1);b (x.py:30) 2",
        "a (x.py:1);0x7f12 (tokenmill/_core.so) 4",
        "a (x.py:1);0x7f13 (tokenmill/_core.so) 4",
        "main (tokenmill/_profile/launch.py:9);wait4 (libc.so.6) 90",
        "c (y.py:1);write (libc.so.6) 1",
    ]
    (tmp_path / "stacks").write_text("\n".join(lines))
    found = [(f.name, f.amount) for f in hot_functions(tmp_path / "stacks")]
    assert found == [
        ("native code of tokenmill/_core.so", 8),
        ("b (x.py)", 5),
        ("write (libc.so.6)", 1),
    ]
    assert hot_functions(tmp_path / "none") == []


def test_allocations_by_size(tmp_path: Path) -> None:
    stats = {
        "total_bytes_allocated": 200,
        "top_allocations_by_size": [{"location": "f:a.py:1", "size": 150}],
    }
    (tmp_path / "stats").write_text(json.dumps(stats))
    (found,) = allocations(tmp_path / "stats")
    assert (found.name, found.share, found.amount) == ("f:a.py:1", 0.75, 150)
    assert allocations(tmp_path / "none") == []


def test_what_memray_can_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("python3", "tokenmill", "other"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert python_target(["python3", "a.py", "x"]) == ["a.py", "x"]
    assert python_target([str(tmp_path / "python3"), "-m", "m"]) == ["-m", "m"]
    assert python_target(["tokenmill", "pack"]) == ["-m", "tokenmill", "pack"]
    assert python_target(["python3"]) is None
    assert python_target(["other", "a.py"]) is None
    assert python_target(["/bin/sh", "a.py"]) is None  # of another folder
    assert python_target(["no-such-command"]) is None


@pytest.mark.slow
@pytest.mark.parametrize("profiler", ["py-spy", "memray"])
def test_real_profilers(profiler: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tool = tools.find_py_spy() if profiler == "py-spy" else tools.find_memray()
    if tool.program is None:
        pytest.skip(tool.why_not)
    (tmp_path / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(300)]) * 50)
    command = ["profile", "tokenize", str(tmp_path / "a.jsonl"), "--with", profiler, "--json"]
    assert main([*command, "--work", str(tmp_path)]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["notes"] == []
    assert 1 <= len(report["functions"]) <= 10
    assert report["runs"][0]["documents"] == 15_000
