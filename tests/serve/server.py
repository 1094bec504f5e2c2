"""A server in a process of its own, and a client that sends whatever bytes a test wants."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HANGS = 30  # seconds after which something that takes milliseconds has surely got stuck


@dataclass
class Reply:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json["error"]
        assert set(found) == {"message", "type", "param", "code"}
        assert found["code"] == self.status
        return found


class Server:
    """`tokenmill serve` as a user starts it."""

    def __init__(self, *arguments: str, soft_files: int = 0, **environment: str) -> None:
        """Start it; `soft_files` is the limit of open files that its shell would have set."""
        command = [sys.executable, "-m", "tokenmill", "serve", "--port", "0", *arguments]
        if soft_files:
            command = ["sh", "-c", f'ulimit -S -n {soft_files}; exec "$@"', "sh", *command]
        self.process = subprocess.Popen(  # noqa: S603
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
        )
        self.lines: list[str] = []
        address = self.wait_for(r"address=(\S+)")[1]
        self.unix = address.removeprefix("unix:") if address.startswith("unix:") else ""
        self.port = 0 if self.unix else int(address.rpartition(":")[2])

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Read the log up to a line."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(pattern, line)
            if found:
                return found
        raise AssertionError("".join(self.lines))

    def connect(self) -> socket.socket:
        if self.unix:
            made = socket.socket(socket.AF_UNIX)
            made.settimeout(HANGS)
            made.connect(self.unix)
            return made
        return socket.create_connection(("127.0.0.1", self.port), HANGS)

    def send(self, raw: bytes) -> Reply:
        """Send bytes on a connection of their own."""
        with self.connect() as made:
            made.sendall(raw)
            return read_reply(made)

    def ask(self, path: str, value: object = None, method: str = "", **headers: str) -> Reply:
        """Send one request: a POST if there is a value, JSON unless it is bytes."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        body = b"" if value is None else body
        sent = {"content-type": "application/json", "content-length": str(len(body))}
        sent.update({name.replace("_", "-"): text for name, text in headers.items()})
        method = method or ("GET" if value is None else "POST")
        head = "".join(f"{name}: {text}\r\n" for name, text in sent.items())
        return self.send(f"{method} {path} HTTP/1.1\r\nhost: t\r\n{head}\r\n".encode() + body)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + HANGS
        while self.ask("/readyz").status != 200:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, rest = self.process.communicate(timeout=HANGS)
        self.lines += rest.splitlines(keepends=True)
        return self.process.returncode


@contextlib.contextmanager
def serving(*arguments: str, soft_files: int = 0, **environment: str) -> Iterator[Server]:
    """Serve during a test, and stop even if it fails."""
    with starting(*arguments, soft_files=soft_files, **environment) as server:
        server.wait_until_ready()
        yield server


@contextlib.contextmanager
def starting(*arguments: str, soft_files: int = 0, **environment: str) -> Iterator[Server]:
    """The same, from before the models are there."""
    server = Server(*arguments, soft_files=soft_files, **environment)
    try:
        yield server
    finally:
        try:
            server.stop()
        except subprocess.TimeoutExpired:
            server.process.kill()
            raise


def read_reply(made: socket.socket) -> Reply:
    return read_replies(made, 1)[0]


def read_replies(made: socket.socket, count: int) -> list[Reply]:
    """Read so many answers of one connection; what comes after them is lost."""
    with made.makefile("rb") as file:
        return [read_from(file) for _ in range(count)]


def read_from(file: IO[bytes]) -> Reply:
    status = file.readline().split()
    assert status, "the connection ended without an answer"
    headers = {}
    while (line := file.readline().strip()) != b"":
        name, _, value = line.decode().partition(": ")
        headers[name.lower()] = value
    body = file.read(int(headers["content-length"]))
    return Reply(int(status[1]), body, headers)
