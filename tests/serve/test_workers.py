"""Processes: start, stop, death and rebirth, and what a user sees of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.serve.server import HANGS, Server, read_from, read_reply, serving, starting

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tokenmill", "serve", *arguments],
        capture_output=True, text=True, check=False, timeout=HANGS,
    )  # fmt: skip


def pids(server: Server) -> set[int]:
    """The workers that answer; connections are spread over them."""
    return {server.ask("/stats").json["server"]["pid"] for _ in range(60)}


def test_workers_share_one_socket_and_one_set_of_counts(small_json: Path, small: Tokenizer) -> None:
    with serving(str(small_json), "--workers", "2") as server:
        ids = small.encode("hello world", add_special_tokens=True).tolist()
        for _ in range(40):
            assert server.ask("/tokenize", {"prompt": "hello world"}).json["tokens"] == ids
        stats = server.ask("/stats").json
        name = next(iter(stats["models"]))
        assert stats["counters"]["models"][name]["encode"]["status"]["ok"] == 40
        assert server.stop() == 0


def test_workers_map_a_model_that_no_cache_had(small_json: Path, tmp_path: Path) -> None:
    with serving(
        str(small_json), "--workers", "3", TOKENMILL_CACHE=str(tmp_path / "cache")
    ) as server:
        for _ in range(3):
            server.wait_for("loaded model=")
        for pid in pids(server):
            with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:  # noqa: PTH123
                assert f"{tmp_path}/cache/" in maps.read()
        assert len(list((tmp_path / "cache").glob("*.mill"))) == 1
        assert server.stop() == 0


def test_a_killed_worker_comes_back_and_nothing_wrong_is_answered(
    small_json: Path, small: Tokenizer
) -> None:
    ids = small.encode("hello world", add_special_tokens=True).tolist()
    with serving(str(small_json), "--workers", "2") as server:
        stop, wrong, good = threading.Event(), [], [0]

        def ask_on() -> None:
            while not stop.is_set():
                try:
                    reply = server.ask("/tokenize", {"prompt": "hello world"})
                except (OSError, AssertionError):
                    continue  # a connection of the worker that died
                good[0] += 1
                if reply.status != 200 or reply.json["tokens"] != ids:
                    wrong.append(reply)

        asking = threading.Thread(target=ask_on)
        asking.start()
        for _ in range(3):
            victim = server.ask("/stats").json["server"]["pid"]
            os.kill(victim, signal.SIGKILL)
            server.wait_for("worker ended .*status=-9")
            server.wait_for("worker started again")
            server.wait_until_ready()
        stop.set()
        asking.join()
        assert wrong == []
        assert good[0] > 10
        assert server.stop() == 0


def test_connections_that_are_kept_spread_to_a_worker_that_comes_back(small_json: Path) -> None:
    """All stay with the survivor at first; it ends some after their answers, and they move."""
    with serving(str(small_json), "--workers", "2") as server, contextlib.ExitStack() as stack:
        for _ in range(2):
            server.wait_for("loaded model=")
        clients = [KeptConnection(server) for _ in range(24)]
        for client in clients:
            stack.callback(client.close)
        victim = clients[0].pid()
        os.kill(victim, signal.SIGKILL)
        server.wait_for("worker started again")
        deadline = time.monotonic() + HANGS
        while True:
            found = [client.pid() for client in clients]
            counts = [found.count(pid) for pid in set(found)]
            if victim not in found and len(counts) == 2 and min(counts) >= 9:
                break
            assert time.monotonic() < deadline, counts
            time.sleep(0.01)
        before = sum(client.made for client in clients)
        for _ in range(60):
            [client.pid() for client in clients]
            time.sleep(0.01)
        assert sum(client.made for client in clients) - before < 10  # nearly even, and they stay


class KeptConnection:
    """A client that keeps its connection, and makes another one when that was ended."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connect()
        self.made = 1

    def _connect(self) -> None:
        self._socket = self._server.connect()
        self._file = self._socket.makefile("rb")

    def pid(self) -> int:
        """Return the worker that answers."""
        while True:
            try:
                self._socket.sendall(b"GET /stats HTTP/1.1\r\nhost: t\r\n\r\n")
                reply = read_from(self._file)
            except (OSError, AssertionError):  # its worker is dead
                self._again()
                continue
            if reply.headers.get("connection") == "close":
                self._again()
            pid: int = reply.json["server"]["pid"]
            return pid

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _again(self) -> None:
        self.close()
        self._connect()
        self.made += 1


def test_a_signal_lets_requests_finish(small_json: Path) -> None:
    body = json.dumps({"prompt": "hello world " * 200_000}).encode()
    head = b"POST /count HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving(str(small_json)) as server, server.connect() as made:
            made.sendall(head % len(body) + body[:-1])
            while server.ask("/stats").json["server"]["connections"] < 2:
                time.sleep(0.01)
            server.process.send_signal(number)
            server.wait_for("stopping")
            made.sendall(body[-1:])
            reply = read_reply(made)
            assert (reply.status, reply.headers["connection"]) == (200, "close")
            assert server.stop() == 0


def test_a_request_that_never_ends_does_not_keep_the_server(small_json: Path) -> None:
    with serving(str(small_json), "--grace", "0.3") as server, server.connect() as made:
        made.sendall(b"POST /count HTTP/1.1\r\ncontent-length: 5\r\n\r\n")
        while server.ask("/stats").json["server"]["connections"] < 2:
            time.sleep(0.01)
        begin = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - begin < HANGS / 3
        assert "cut_off=1" in server.lines[-1]


def test_workers_end_with_their_parent(small_json: Path) -> None:
    with starting(str(small_json), "--workers", "2") as server:
        server.wait_until_ready()
        workers = pids(server)
        server.process.kill()
        deadline = time.monotonic() + HANGS
        while any(_is_alive(worker) for worker in workers):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_model_that_cannot_be_loaded_ends_the_server(workers: str) -> None:
    ran = run("--port", "0", "--workers", workers, "no/such/file.json")
    assert ran.returncode == 1
    assert "no/such/file.json" in ran.stderr


def test_a_port_in_use_is_told(small_json: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = run(str(small_json), "--port", str(taken.getsockname()[1]))
    assert ran.returncode == 1
    assert "cannot listen" in ran.stderr
    assert "--port" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["a=x", "a=y"], "two models have the name 'a'"),
        (["=x"], "expected NAME=SOURCE"),
        (["--port", "70000"], "expected a port"),
        (["--timeout", "-1"], "expected a number of seconds"),
        (["--token-file", "nothing.txt"], "cannot be read"),
        (["--certificate", "nothing.pem"], "nothing.pem"),
        (["--private-key", "nothing.pem"], "needs --certificate"),
        (["--profile", "huge"], "invalid choice"),
    ],
)
def test_wrong_options_are_told(arguments: list[str], part: str) -> None:
    ran = run(*arguments)
    assert ran.returncode == 2
    assert part in ran.stderr


def test_explain_prints_the_limits_of_a_profile() -> None:
    ran = run("--profile", "edge", "--explain", "--timeout", "3")
    assert ran.returncode == 0
    assert ran.stdout.startswith("edge: a small machine")
    words = [line.split() for line in ran.stdout.splitlines()]
    assert any(line[:3] == ["timeout", "3", "s"] for line in words)
    assert any(line[:3] == ["max_body_bytes", "4", "MiB"] for line in words)
    assert any(line[:3] == ["grace", "5", "s"] for line in words)  # of the profile
    assert any(line[:3] == ["grace_seconds", "5", "s"] for line in words)
    assert any(line[:2] == ["tables", "tiny"] for line in words)
    ran = run("--profile", "edge", "--explain", "--grace", "1", "--tables", "small")
    words = [line.split() for line in ran.stdout.splitlines()]
    assert any(line[:3] == ["grace_seconds", "1", "s"] for line in words)
    assert any(line[:2] == ["tables", "small"] for line in words)


def test_logs_are_lines_of_json_if_asked_for(small_json: Path) -> None:
    command = [sys.executable, "-m", "tokenmill", "serve", str(small_json), "--port", "0", "--json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stderr is not None
    lines = [json.loads(process.stderr.readline()) for _ in range(2)]
    process.terminate()
    lines += map(json.loads, process.communicate(timeout=HANGS)[1].splitlines())
    assert [line["event"] for line in lines] == ["listening", "loaded", "stopping", "stopped"]
    assert {line["level"] for line in lines} == {"info"}
