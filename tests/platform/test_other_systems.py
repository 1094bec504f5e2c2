"""Windows and macOS, as far as Linux can play them: what they lack is taken away."""

from __future__ import annotations

import ast
import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.mill.outputs import digests

import tokenmill
from tokenmill._platform import files, folders
from tokenmill._platform.locks import lock

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tokenmill"
PROGRAM = Path(__file__).with_name("other_system.py")
# What only POSIX has. `_serve` needs it, and refuses to run on Windows.
POSIX = {"fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
SYSTEMS = {"linux": [".cache"], "darwin": ["Library", "Caches"], "win32": ["AppData", "Local"]}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    lines = [json.dumps({"text": f"hello world {n} " * (n % 40)}) for n in range(400)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run_as(system: str, tokenizer: Path, texts: Path, folder: Path) -> dict[str, Any]:
    home = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    command = [sys.executable, str(PROGRAM), system, str(tokenizer), str(texts), str(folder)]
    done = subprocess.run(  # noqa: S603
        command, check=False, capture_output=True, text=True, cwd=ROOT, env=home
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_another_system_packs_resumes_and_verifies_to_the_same_bytes(
    system: str, small_json: Path, texts: Path, tmp_path: Path
) -> None:
    found = run_as(system, small_json, texts, tmp_path)
    usual = tokenmill.Tokenizer.load(small_json)
    assert found["ids"] == usual.encode("hello world").tolist()
    assert found["text"] == "hello world"
    assert found["interrupted"] > 1
    assert found["locked"]
    assert found["problems"] == []
    assert found["shards"] > 2
    tokenmill.pack(
        texts, output=tmp_path / "usual", tokenizer=usual, context_length=64, shard_tokens=2000,
        workers=2, format="bin,npy", progress="none",
    )  # fmt: skip
    assert digests(tmp_path / "packed") == digests(tmp_path / "usual")
    assert Path(found["cache"]) == tmp_path.joinpath("home", *SYSTEMS[system], "tokenmill")
    assert found["modules"] == []
    peak, resident, memory = found["memory"]
    assert peak > 1 << 10  # this system counts KiB where macOS counts bytes
    assert memory >= 1 << 30
    if system == "win32":
        assert (peak, resident, memory) == (70 << 20, 50 << 20, 8 << 30)
        assert found["cpus"] == [0, 2]
        assert set(found["calls"]) == {
            "LockFileEx", "UnlockFileEx", "GetCurrentProcess", "GetProcessAffinityMask",
            "K32GetProcessMemoryInfo", "GlobalMemoryStatusEx",
        }  # fmt: skip


def imported(file: Path) -> set[str]:
    """Return the first names of all modules that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
    return names


def test_only_one_room_imports_what_one_system_has() -> None:
    users = {file.relative_to(SOURCE).parts[0] for file in SOURCE.rglob("*.py")
             if imported(file) & POSIX}  # fmt: skip
    assert users == {"_platform"}


def test_a_lock_keeps_others_out_until_the_file_is_closed(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        lock(first)
        with pytest.raises(BlockingIOError):
            lock(second, wait=False)
        lock(first, shared=True)
        lock(second, shared=True, wait=False)
        with pytest.raises(BlockingIOError):
            lock(second, wait=False)
        first.close()
        lock(second, wait=False)


def test_windows_tries_again_for_a_while_and_then_says_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    pauses: list[float] = []

    def used(*_: object) -> None:
        tries.append(1)
        raise PermissionError(errno.EACCES, "is used")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "replace", used)
    monkeypatch.setattr(time, "sleep", pauses.append)
    with pytest.raises(PermissionError):
        files.replace(tmp_path / "a", tmp_path / "b")
    assert len(tries) == len(pauses) + 1 > 5
    assert 0.5 < sum(pauses) < 2


def test_a_file_that_may_not_be_replaced_fails_at_once_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(os, "replace", refused)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waited"))
    with pytest.raises(PermissionError):
        files.replace(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("lacking", [[], ["preadv"], ["preadv", "pread"]])
def test_bytes_are_read_at_a_place_with_whatever_there_is(
    lacking: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    for name in lacking:
        monkeypatch.delattr(os, name)
    number = files.open_to_read(tmp_path / "file")
    memory = bytearray(4)
    try:
        assert files.read_at(number, memoryview(memory), 3) == 4
        assert memory == b"3456"
        assert files.read_at(number, memoryview(memory), 8) == 2
        assert memory == b"8956"
        assert files.read_at(number, memoryview(memory), 10) == 0
    finally:
        os.close(number)


@pytest.mark.parametrize("lacking", [[], ["pwrite", "writev"]])
def test_bytes_are_written_with_whatever_there_is(
    lacking: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in lacking:
        monkeypatch.delattr(os, name)
    with (tmp_path / "file").open("wb", buffering=0) as file:
        buffers = [memoryview(b"abc"), memoryview(b"def")]
        written = files.write_buffers(file.fileno(), buffers)
        assert written == (3 if lacking else 6)
        assert files.write_at(file.fileno(), memoryview(b"XY"), 1) == 2
    assert (tmp_path / "file").read_bytes() == (b"aXY" if lacking else b"aXYdef")


@pytest.mark.parametrize("system", SYSTEMS)
def test_caches_are_where_the_system_keeps_them(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert folders.cache_home() == str(Path("/home/me", *SYSTEMS[system]))
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert (folders.cache_home() == "/local") == (system == "win32")
    monkeypatch.setenv("XDG_CACHE_HOME", "/mine")
    assert folders.cache_home() == "/mine"


WAITS = """
import os, signal, sys
from tokenmill._platform import signals
if sys.argv[1] == "darwin":
    del signal.sigtimedwait
held = (signal.SIGUSR1, signal.SIGCHLD)
signals.hold_back(held)
assert signals.wait_for_signal(held, 0.0) is None
os.kill(os.getpid(), signal.SIGUSR1)
assert signals.wait_for_signal(held, 60) == signal.SIGUSR1
assert signals.wait_for_signal(held, 0.001) is None
child = os.fork() or os._exit(7)
assert signals.wait_for_signal(held, 60) == signal.SIGCHLD
assert os.waitpid(child, 0) == (child, 7 << 8)
"""


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_signal_that_is_held_back_is_waited_for(system: str) -> None:
    command = [sys.executable, "-c", WAITS, system]  # a process of one thread
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stderr
