"""Threads that share a tokenizer, with the GIL and without: calls per second, by rounds in turn.

    python benchmarks/threads/free_threading.py PYTHON [--rounds 9] [--threads 2]

PYTHON is a free-threaded interpreter that has the package. Each round starts it twice, with
PYTHON_GIL=1 and with PYTHON_GIL=0, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

WORK = Path(__file__).resolve()
SECONDS = 0.3  # of each kind of call


def kinds(tokenizer: Any) -> dict[str, Callable[[], object]]:
    """Return the calls that are timed."""
    sentence = "The quick brown fox jumps over the lazy dog, then sleeps. " * 2
    document = "A document of three kilobytes, more or less, with numbers like 1234. " * 45
    many = [f"{n} {document[: 100 + 37 * n % 900]}" for n in range(64)]
    return {
        "encode 11 characters": lambda: tokenizer.encode("hello world"),
        "encode 116 characters": lambda: tokenizer.encode(sentence),
        "encode 3 kB": lambda: tokenizer.encode(document),
        "encode_batch of 64, one thread": lambda: tokenizer.encode_batch(many, threads=1),
        "count 116 characters": lambda: tokenizer.count(sentence),
    }


def work(threads: int) -> None:
    """Run in the interpreter that is measured: print what was counted as JSON."""
    import tokenmill

    tokenizer = tokenmill.Tokenizer.load()
    found = {
        name: {str(n): count_calls(call, n) for n in (1, threads)}
        for name, call in kinds(tokenizer).items()
    }
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(json.dumps({"gil": gil, "kinds": found}))


def count_calls(call: Callable[[], object], threads: int) -> dict[str, float]:
    """Return calls per second of the clock, and nanoseconds of CPU a call, of all threads.

    All work for the same time: with a fixed number of calls, one that has to wait for a core would
    hold up the others.
    """
    barrier, cpu, calls = threading.Barrier(threads), [0.0] * threads, [0] * threads

    def loop(n: int) -> None:
        barrier.wait()
        begin, until = time.thread_time(), time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            for _ in range(20):
                call()
            calls[n] += 20
        cpu[n] = time.thread_time() - begin

    workers = [threading.Thread(target=loop, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"rate": sum(calls) / SECONDS, "cpu": sum(cpu) / sum(calls) * 1e9}


def measure(python: str, gil: str, threads: int) -> dict[str, Any]:
    """Measure in a process of its own, with the GIL or without."""
    command = [python, str(WORK), "--work", "--threads", str(threads), python]
    done = subprocess.run(  # noqa: S603
        command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHON_GIL": gil}
    )
    found: dict[str, Any] = json.loads(done.stdout)
    if found["gil"] != (gil == "1"):
        sys.exit(f"{python}: PYTHON_GIL={gil} has no effect; hint: give a free-threaded Python")
    kinds_found: dict[str, Any] = found["kinds"]
    return kinds_found


def main() -> None:
    """Measure in turn and print medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("python")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", action="store_true")
    options = parser.parse_args()
    if options.work:
        work(options.threads)
        return
    rounds = [
        {gil: measure(options.python, gil, options.threads) for gil in ("1", "0")}
        for _ in range(options.rounds)
    ]
    print(f"medians of {options.rounds} rounds, {options.threads} threads, without GIL / with GIL")
    for name in rounds[0]["1"]:
        many = str(options.threads)
        speed = [r["0"][name][many]["rate"] / r["1"][name][many]["rate"] for r in rounds]
        alone = [r["0"][name]["1"]["cpu"] / r["1"][name]["1"]["cpu"] for r in rounds]
        crowd = [r["0"][name][many]["cpu"] / r["0"][name]["1"]["cpu"] for r in rounds]
        cpu = statistics.median(r["0"][name][many]["cpu"] for r in rounds)
        print(
            f"{name:32} speed of {many} threads {statistics.median(speed):.2f} "
            f"({min(speed):.2f} to {max(speed):.2f}), CPU of one thread "
            f"{statistics.median(alone):.2f}, CPU of {many} against 1 without GIL "
            f"{statistics.median(crowd):.2f}, {cpu:.0f} ns a call"
        )


if __name__ == "__main__":
    main()
