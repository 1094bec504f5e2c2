"""Services compared: the same requests, open-loop load, answers compared.

    python run.py TOKENIZER_JSON TEXT --peers PYTHON --part NAME [--seconds S]

Every part takes less than three minutes and adds a file to the results. Under overload the load
generator has the last core for itself, and the server a worker on each of the others: a generator
that shares the cores takes more of them the more it is refused.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

from _driver import RESULTS, write_results
from benchmarks.compare.serve._requests import Requests, make_requests
from benchmarks.compare.serve._servers import (
    build_load,
    cpu_seconds,
    kinds,
    run_load,
    serving,
    system_seconds,
    waited_seconds,
)
from benchmarks.compare.serve._trials import (
    answer_a_million,
    cost_of,
    keep_idle,
    kill_workers,
    overload,
    share_memory,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        self.server: Any = None
        self._load_cpus: set[int] | None = None

    def saturate(self, path: str, requests: Requests, seconds: float, **more: Any) -> Any:
        """Let every connection send its next request at once."""
        answers = requests.answers if path == "/tokenize" else None
        more.setdefault("connections", requests.connections)
        before = self._used()
        load = run_load(self.load, path, requests.bodies, cpus=self._load_cpus, answers=answers,
                        seconds=seconds, **more)  # fmt: skip
        if self.server:
            names = ("server_cpu_s", "server_system_s", "server_waited_s")
            used = (round(b - a, 3) for a, b in zip(before, self._used(), strict=True))
            load |= dict(zip(names, used, strict=True))
        return load

    def _used(self) -> tuple[float, ...]:
        server = self.server
        asked = (cpu_seconds, system_seconds, waited_seconds)
        return tuple(ask(server) for ask in asked) if server else ()

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
              "lost", "unanswered", "cpu_share", "waited_s", "server_cpu_s", "server_system_s",
              "server_waited_s")}), flush=True)  # fmt: skip

    @contextlib.contextmanager
    def own(self, *more: str, apart: bool = False) -> Iterator[Any]:
        """Start `tokenmill serve`; the answers of `tokenizers` know no context.

        `apart`: the load has the last core, the server a worker on each of the others.
        """
        cpus = sorted(os.sched_getaffinity(0))
        own, workers = (set(cpus[:-1]), len(cpus) - 1) if apart else (None, self.workers)
        self._load_cpus = {cpus[-1]} if apart else None
        kind = self.kinds["tokenmill"]
        with serving(kind, self.tokenizer, workers, *more, cpus=own) as self.server:
            yield self.server
        self.server = self._load_cpus = None


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
        with serving(bench.kinds[name], bench.tokenizer, bench.workers) as bench.server:
            bench.warm()
            for requests in bench.requests.values():
                load = bench.saturate("/tokenize", requests, bench.seconds)
                bench.note(service=name, workers=bench.workers, answer=requests.name,
                           cpu_us=round(1e6 * cost_of(load)), load=load)  # fmt: skip
        bench.server = None


def measure_latency(bench: Bench, *, apart: bool = False) -> None:
    """Open loop, at parts of the saturation with 1k tokens, and of that with 32k.

    `apart`: one core for the load, a worker on each of the others. Three processes on two cores
    wait for each other, and a latency is then mostly that.
    """
    with bench.own(apart=apart):
        bench.warm()
        for requests in bench.requests.values():
            peak = bench.saturate("/tokenize", requests, 4)["per_s"]
            for share in (0.25, 0.5, 0.75):
                load = bench.saturate(
                    "/tokenize", requests, bench.seconds, rate=share * peak, connections=64
                )
                bench.note(answer=requests.name, share=share, peak=peak, load=load)


PARTS = {
    "servers": compare_servers,
    "peers": compare_peers,
    "latency": measure_latency,
    "latency-apart": lambda bench: measure_latency(bench, apart=True),
    "overload-1k": lambda bench: overload(bench, "1k", 512),
    "overload-1k-many": lambda bench: overload(bench, "1k", 4096),
    "overload-32k": lambda bench: overload(bench, "32k", 512),
    "killed": kill_workers,
    "idle": keep_idle,
    "million": answer_a_million,
    "memory": share_memory,
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
