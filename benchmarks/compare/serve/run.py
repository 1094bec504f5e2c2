"""Services compared: the same requests, open-loop load, answers compared.

    python run.py TOKENIZER_JSON TEXT --peers PYTHON --part servers|peers|latency|overload|killed

Every part takes less than two minutes and adds a line to the results file.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

from _driver import RESULTS, write_results
from benchmarks.compare.serve._requests import Requests, make_requests
from benchmarks.compare.serve._servers import build_load, kinds, resident_mib, run_load, serving

if TYPE_CHECKING:
    import subprocess

LENGTH = -1  # of a model's context, in all answers


class Bench:
    """What all parts share."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.tokenizer = options.tokenizer.resolve()
        self.workers = options.workers
        self.seconds = options.seconds
        self.kinds = kinds(options.peers)
        self.load = build_load(folder)
        self.requests = make_requests(self.tokenizer, options.text, folder, LENGTH)
        self.rows: list[dict[str, Any]] = []

    def saturate(self, path: str, requests: Requests, seconds: float, **more: Any) -> Any:
        """Let every connection send its next request at once."""
        answers = requests.answers if path == "/tokenize" else None
        more.setdefault("connections", requests.connections)
        return run_load(self.load, path, requests.bodies, answers=answers, seconds=seconds, **more)

    def warm(self) -> None:
        """Let a server see each text, and grow its tables."""
        for requests in self.requests.values():
            self.saturate("/tokenize", requests, 0.7)

    def note(self, **row: Any) -> None:
        """Keep and print a row."""
        self.rows.append(row)
        measured = row.get("load", row)
        line = {name: value for name, value in row.items() if name != "load"}
        print(line, json.dumps({k: measured.get(k) for k in ("per_s", "good", "rejected", "wrong",
              "lost", "unanswered", "cpu_share")}), flush=True)  # fmt: skip

    def own(self, *more: str) -> Any:
        """Start `tokenmill serve`; the answers of `tokenizers` know no context."""
        kind = self.kinds["tokenmill"]
        return serving(kind, self.tokenizer, self.workers, *more)


def compare_servers(bench: Bench) -> None:
    """HTTP servers alone, one worker: a constant, and our /tokenize without the service."""
    for name in ("connection", "uvicorn", "granian"):
        kind = bench.kinds[name]
        with serving(kind, bench.tokenizer, 1):
            bench.warm()
            few = bench.requests["1k"]
            bench.note(server=name, answer="constant", load=bench.saturate("/const", few, 3))
            for requests in bench.requests.values():
                load = bench.saturate("/tokenize", requests, bench.seconds)
                bench.note(server=name, answer=requests.name, load=load)


def compare_peers(bench: Bench) -> None:
    """Find the most that each service does."""
    for name in ("tokenmill", "fastapi"):
        with serving(bench.kinds[name], bench.tokenizer, bench.workers):
            bench.warm()
            for requests in bench.requests.values():
                load = bench.saturate("/tokenize", requests, bench.seconds)
                bench.note(service=name, workers=bench.workers, answer=requests.name, load=load)


def measure_latency(bench: Bench) -> None:
    """Open loop, at parts of the saturation with 1k tokens, and of that with 32k."""
    with bench.own():
        bench.warm()
        for requests in bench.requests.values():
            peak = bench.saturate("/tokenize", requests, 4)["per_s"]
            for share in (0.25, 0.5, 0.75):
                load = bench.saturate(
                    "/tokenize", requests, bench.seconds, rate=share * peak, connections=64
                )
                bench.note(answer=requests.name, share=share, peak=peak, load=load)


def overload(bench: Bench, name: str) -> None:
    """Twice the capacity, and what is left of the throughput; then half of it."""
    requests = bench.requests[name]
    with bench.own("--profile", "realtime") as server:
        bench.warm()
        few = requests.connections
        peak = bench.saturate("/tokenize", requests, 5, connections=few)["per_s"]
        watch = Watch(server)
        many = 512
        load = bench.saturate("/tokenize", requests, bench.seconds, rate=2 * peak, connections=many)
        memory = watch.stop()
        bench.note(answer=name, phase="overload", peak=peak, share=load["per_s"] / peak,
                   memory_mib=memory, load=load)  # fmt: skip
        for second in (1, 2, 3):
            after = bench.saturate("/tokenize", requests, 1, rate=peak / 2, connections=64)
            bench.note(answer=name, phase=f"second {second} after it", load=after)


def kill_workers(bench: Bench) -> None:
    """Half of the saturation while a worker is killed every two seconds."""
    requests = bench.requests["1k"]
    with bench.own() as server:
        bench.warm()
        peak = bench.saturate("/tokenize", requests, 3)["per_s"]
        killer = Killer(server, bench.seconds)
        load = bench.saturate("/tokenize", requests, bench.seconds, rate=peak / 2, connections=64)
        bench.note(answer="1k", workers=bench.workers, killed=killer.stop(), peak=peak, load=load)
        bench.note(phase="after", load=bench.saturate("/tokenize", requests, 2, rate=peak / 2))


class Watch:
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


PARTS = {
    "servers": compare_servers,
    "peers": compare_peers,
    "latency": measure_latency,
    "overload-1k": lambda bench: overload(bench, "1k"),
    "overload-32k": lambda bench: overload(bench, "32k"),
    "killed": kill_workers,
}


def main() -> int:
    """Run one part and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--peers", default=sys.executable, help="a Python with FastAPI and uvicorn")
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, Path(folder))
        PARTS[options.part](bench)
    write(options, bench.rows)
    return 0


def write(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Add a file to the results."""
    facts = {"workers": options.workers, "seconds": options.seconds,
             "tokenizer": options.tokenizer.parent.name, "text": options.text.name}  # fmt: skip
    write_results(RESULTS, f"serve-{options.part}", argparse.Namespace(**facts), rows)


if __name__ == "__main__":
    sys.exit(main())
