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
    kind: Kind, tokenizer: Path, workers: int, *more: str, cpus: set[int] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server on some CPUs, wait until it answers, and stop it with all its processes."""
    facts = {"port": PORT, "workers": workers, "source": tokenizer}
    command = on_cpus(cpus) + [part.format(**facts) for part in kind.command] + list(more)
    packages = os.environ.get("PEER_PACKAGES", "")  # a folder of `pip install --target`
    environment = {**os.environ, "TOKENIZER": str(tokenizer), "PYTHONPATH": packages}
    log = Path(os.environ.get("SERVE_LOG", os.devnull)).open("ab")  # noqa: SIM115
    process = subprocess.Popen(  # noqa: S603
        command, cwd=HERE, env=environment, stdout=log, stderr=log, start_new_session=True
    )
    try:
        wait_until_ready(process, "/readyz" if kind.name in ("tokenmill", "fastapi") else "/const")
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()
        log.close()


def wait_until_ready(process: subprocess.Popen[bytes], path: str) -> None:
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


def on_cpus(cpus: set[int] | None) -> list[str]:
    """Return the beginning of a command that runs on these CPUs only."""
    return ["taskset", "-c", ",".join(map(str, sorted(cpus)))] if cpus else []


def run_load(
    program: Path, path: str, bodies: Path, cpus: set[int] | None = None, **options: Any
) -> dict[str, Any]:
    """Run the load generator and return what it printed."""
    given = [str(part) for name, value in options.items() if value is not None
             for part in (f"--{name}", value)]  # fmt: skip
    ran = subprocess.run(  # noqa: S603
        [*on_cpus(cpus), str(program), "127.0.0.1", str(PORT), path, str(bodies), *given],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def proportional_mib(process: subprocess.Popen[Any]) -> float:
    """Return the memory of all processes of a session, each shared page divided by its users."""
    kib = 0
    for path in _processes(process):
        with contextlib.suppress(OSError):
            lines = (path / "smaps_rollup").read_text().splitlines()
            kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib / 1024


def resident_mib(process: subprocess.Popen[bytes]) -> float:
    """Return the resident memory of a server and its workers."""
    pages = sum(int(fields[21]) for fields in _stats(process))
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time of a server and its workers, in user and system."""
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in _stats(process))
    return ticks / os.sysconf("SC_CLK_TCK")


def system_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the part of the CPU time that the kernel took for it."""
    return sum(int(fields[12]) for fields in _stats(process)) / os.sysconf("SC_CLK_TCK")


def waited_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return how long threads of a server were ready to run and others had the CPUs."""
    waits = 0
    for path in _processes(process):
        for thread in (path / "task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                waits += int(thread.read_text().split()[1])
    return waits * 1e-9


def _processes(process: subprocess.Popen[Any]) -> Iterator[Path]:
    """Yield the folders in /proc of all processes of a session."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((path / "stat").read_text().rpartition(")")[2].split()[3]) == process.pid:
                yield path


def _stats(process: subprocess.Popen[bytes]) -> Iterator[list[str]]:
    """Yield the fields of /proc/PID/stat, from the third on, of all processes of a session."""
    for path in _processes(process):
        with contextlib.suppress(OSError):
            yield (path / "stat").read_text().rpartition(")")[2].split()
