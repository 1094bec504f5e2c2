"""Servers in processes of their own, the load generator, and what both use."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
PORT = 9471
READY_SECONDS = 60


@dataclass(frozen=True)
class Kind:
    """How one kind of server is started."""

    name: str
    command: tuple[str, ...]
    most_workers: int = 8
    paths: tuple[str, ...] = ("/tokenize",)


def kinds(peers: str) -> dict[str, Kind]:
    """Return all servers; `peers` is the Python that has FastAPI, uvicorn and granian."""
    own, peers = sys.executable, str(Path(peers).absolute())
    uvicorn = (peers, "-m", "uvicorn", "--port", "{port}", "--workers", "{workers}", "--loop",
               "uvloop", "--http", "httptools", "--no-access-log", "--log-level",
               "warning")  # fmt: skip
    granian = (peers, "-m", "granian", "--interface", "asgi", "--port", "{port}", "--workers",
               "{workers}", "--loop", "uvloop", "--no-ws", "--log-level", "warning")  # fmt: skip
    both = ("/const", "/tokenize")
    return {
        kind.name: kind
        for kind in (
            Kind("tokenmill", (own, "-m", "tokenmill", "serve", "model={source}", "--port",
                               "{port}", "--workers", "{workers}")),
            Kind("fastapi", (*uvicorn, "with_fastapi:app")),
            Kind("connection", (own, "constant.py", "{port}"), 1, both),
            Kind("uvicorn", (*uvicorn, "asgi_app:app"), 8, both),
            Kind("granian", (*granian, "asgi_app:app"), 8, both),
        )
    }  # fmt: skip


@contextlib.contextmanager
def serving(
    kind: Kind, tokenizer: Path, workers: int, *more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server, wait until it answers, and stop it with all its processes."""
    facts = {"port": PORT, "workers": workers, "source": tokenizer}
    command = [part.format(**facts) for part in kind.command] + list(more)
    packages = os.environ.get("PEER_PACKAGES", "")  # a folder of `pip install --target`
    environment = {**os.environ, "TOKENIZER": str(tokenizer), "PYTHONPATH": packages}
    log = Path(os.environ.get("SERVE_LOG", os.devnull)).open("ab")  # noqa: SIM115
    process = subprocess.Popen(  # noqa: S603
        command, cwd=HERE, env=environment, stdout=log, stderr=log, start_new_session=True
    )
    try:
        _wait_until_ready(process, "/readyz" if kind.name in ("tokenmill", "fastapi") else "/const")
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()
        log.close()


def _wait_until_ready(process: subprocess.Popen[bytes], path: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", PORT), 1) as made:
            made.sendall(f"GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n".encode())
            if made.recv(100).split()[1:2] == [b"200"]:
                return
        time.sleep(0.05)
    raise SystemExit(f"the server did not start: {process.args!r}")


def build_load(folder: Path) -> Path:
    """Compile the load generator."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise SystemExit("no C++ compiler")
    program = folder / "load"
    source = str(HERE / "load.cpp")
    subprocess.run(  # noqa: S603
        [compiler, "-std=c++20", "-O2", "-o", str(program), source], check=True
    )
    return program


def run_load(program: Path, path: str, bodies: Path, **options: Any) -> dict[str, Any]:
    """Run the load generator and return what it printed."""
    given = [str(part) for name, value in options.items() if value is not None
             for part in (f"--{name}", value)]  # fmt: skip
    ran = subprocess.run(  # noqa: S603
        [str(program), "127.0.0.1", str(PORT), path, str(bodies), *given],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def resident_mib(process: subprocess.Popen[bytes]) -> float:
    """Return the resident memory of a server and its workers."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == process.pid:  # session
                total += int(fields[21])
    return total * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
