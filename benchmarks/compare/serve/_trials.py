"""A server in bad times: overload, dead workers, idle connections, a million requests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.compare.serve._servers import (
    PORT,
    proportional_mib,
    resident_mib,
    serving,
    wait_until_ready,
)

if TYPE_CHECKING:
    from benchmarks.compare.serve.run import Bench

MILLION = 1_000_000
IDLE = 10_000
_CONNECT = """
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
made = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
print("there", flush=True)
sys.stdin.read()
"""
_LOAD = """
import json, sys
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
for line in open(sys.argv[2], encoding="utf-8"):
    tokenizer.encode(json.loads(line)["prompt"])
print("there", flush=True)
sys.stdin.read()
"""


def overload(bench: Bench, name: str, connections: int) -> None:
    """Twice the capacity, and what is left of the throughput; then half of it."""
    requests = bench.requests[name]
    with bench.own("--profile", "realtime", apart=True) as server:
        bench.warm()
        at_peak = bench.saturate("/tokenize", requests, 5)
        peak = at_peak["per_s"]
        bench.note(answer=name, phase="peak", load=at_peak)
        memory = Memory(server)
        load = bench.saturate("/tokenize", requests, bench.seconds, rate=2 * peak,
                              connections=connections)  # fmt: skip
        bench.note(answer=name, phase="overload", peak=peak, share=load["per_s"] / peak,
                   share_of_cpu=cost_of(at_peak) / cost_of(load), memory_mib=memory.stop(),
                   load=load)  # fmt: skip
        for second in (1, 2, 3):
            after = bench.saturate("/tokenize", requests, 1, rate=peak / 2, connections=64)
            bench.note(answer=name, phase=f"second {second} after it", load=after)


def cost_of(load: dict[str, Any]) -> float:
    """Return CPU seconds of the server for each good answer: the same on a busy machine."""
    return float(load["server_cpu_s"] / max(1, load["good"]["count"]))


def kill_workers(bench: Bench) -> None:
    """Half of the saturation while a worker is killed every two seconds."""
    requests = bench.requests["1k"]
    with bench.own() as server:
        bench.warm()
        peak = bench.saturate("/tokenize", requests, 3)["per_s"]
        killer = Killer(server, bench.seconds)
        load = bench.saturate("/tokenize", requests, bench.seconds, rate=peak / 2, connections=64)
        bench.note(answer="1k", workers=bench.workers, killed=killer.stop(), peak=peak, load=load)
        begin = time.monotonic()
        wait_until_ready(server, "/readyz")
        ready = round(time.monotonic() - begin, 3)
        after = bench.saturate("/tokenize", requests, 3, rate=peak / 2, connections=64)
        bench.note(phase="after", ready_seconds=ready, load=after)


def keep_idle(bench: Bench) -> None:
    """Half of the saturation without and with ten thousand connections that say nothing."""
    requests = bench.requests["1k"]
    with bench.own() as server:
        bench.warm()
        rate = bench.saturate("/tokenize", requests, 3)["per_s"] / 2
        for count in (0, IDLE):
            before = resident_mib(server)
            idle = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", _CONNECT, str(PORT), str(count)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            if idle.stdout is None or not idle.stdout.readline():
                raise SystemExit("no connections: raise the limit of open files (ulimit -n)")
            each = (resident_mib(server) - before) * 1024 / max(1, count)
            load = bench.saturate("/tokenize", requests, bench.seconds, rate=rate, connections=64)
            bench.note(answer="1k", idle=count, kib_each=round(each, 2), load=load)
            idle.communicate("")


def answer_a_million(bench: Bench) -> None:
    """Look at the memory during a million requests."""
    requests = bench.requests["1k"]
    with bench.own() as server:
        bench.warm()
        good = 0
        while good < MILLION:
            load = bench.saturate("/tokenize", requests, 5)
            good += load["good"]["count"]
            bench.note(answer="1k", answered=good, memory_mib=round(resident_mib(server), 1),
                       load=load)  # fmt: skip


def share_memory(bench: Bench) -> None:
    """Eight workers, eight processes with `tokenizers`, and the profile `edge`: memory of each."""
    requests = bench.requests["1k"]
    for count, more in ((8, ()), (1, ("--profile", "edge"))):
        with serving(bench.kinds["tokenmill"], bench.tokenizer, count, *more) as server:
            for seconds in (0.02, 2):  # some hundred requests, and as many as there can be
                load = bench.saturate("/tokenize", requests, seconds)
                bench.note(service="tokenmill", workers=count, options=more,
                           requests=load["good"]["count"],
                           proportional_mib=round(proportional_mib(server)),
                           resident_mib=round(resident_mib(server)), load=load)  # fmt: skip
    peers = [_loaded_elsewhere(bench) for _ in range(8)]
    shares = sum(proportional_mib(peer) for peer in peers)
    bench.note(service="tokenizers", workers=8, proportional_mib=round(shares))
    for peer in peers:
        peer.communicate("")


def _loaded_elsewhere(bench: Bench) -> subprocess.Popen[Any]:
    """Start a process that loads the tokenizer with `tokenizers` and encodes some texts."""
    command = [sys.executable, "-c", _LOAD, str(bench.tokenizer), str(bench.requests["1k"].bodies)]
    process = subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    if process.stdout is None or not process.stdout.readline():
        raise SystemExit("`tokenizers` could not load it")
    return process


class Memory:
    """Takes the memory of a server once a second."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        self._server = server
        self._mib: list[int] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(1):
            self._mib.append(round(resident_mib(self._server)))

    def stop(self) -> list[int]:
        """Return the MiB of each second."""
        self._end.set()
        self._thread.join()
        return self._mib


class Killer:
    """Kills a worker every two seconds."""

    def __init__(self, server: subprocess.Popen[bytes], seconds: float) -> None:
        self._server = server
        self._count = 0
        self._until = time.monotonic() + seconds - 2
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while time.monotonic() < self._until:
            time.sleep(2)
            path = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children")
            workers = path.read_text().split()
            if workers:
                os.kill(int(workers[self._count % len(workers)]), signal.SIGKILL)
                self._count += 1

    def stop(self) -> int:
        """Return how many were killed."""
        self._thread.join()
        return self._count
