"""The start of a process: import, load, first call, one short text; p50 and p99."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from _driver import progress
from benchmarks.compare.goals._rows import Goal

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

TOKENIZERS = ("gpt2", "llama3", "gemma3", "xlm-roberta", "bert-base-uncased")
NUMPY = "import numpy"
OURS = """
import json, sys, time
import tokenmill
tokenmill.Tokenizer.load(sys.argv[2])  # imports what loading needs
begin = time.perf_counter()
tokenizer = tokenmill.Tokenizer.load(sys.argv[1])
loaded = time.perf_counter()
tokenizer.encode("The quick brown fox jumps over the lazy dog.")
called = time.perf_counter()
text = "A hundred characters of ordinary English prose, " * 2 + "ok"
least = 1.0
for _ in range(200):
    t = time.perf_counter()
    for _ in range(10):
        tokenizer.encode(text)
    least = min(least, time.perf_counter() - t)
print(json.dumps([(loaded - begin) * 1e3, (called - loaded) * 1e3, least * 1e5]))
"""
SHORT = """
import sys
import tokenmill
tokenmill.Tokenizer.load(sys.argv[1]).encode("The quick brown fox jumps over the lazy dog.")
"""
LIMITS = {"load ms": 5.0, "first call ms": 1.0, "100 characters us": 0.5}
PROCESS_MS = 120.0


def start_rows(arguments: argparse.Namespace) -> list[Goal]:
    """Return the goals of all tokenizers; whole processes are measured with the first one."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TOKENMILL_CACHE=folder, PYTHONPYCACHEPREFIX=folder)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        folders = [arguments.tokenizers / name for name in TOKENIZERS]
        goals = processes(folders[0], arguments.processes, environment)
        for path, other in zip(folders, [*folders[1:], folders[0]], strict=True):
            goals += inside(path, other, arguments.processes, environment)
    return goals


def processes(tokenizer: Path, count: int, environment: dict[str, str]) -> list[Goal]:
    """Return milliseconds of whole processes, ours and one that imports numpy, in turn."""
    progress(f"start: {count} processes")
    found: dict[str, list[float]] = {"process": [], "numpy alone": []}
    for number in range(count + 2):  # the first two fill the caches
        for name, code in (("process", SHORT), ("numpy alone", NUMPY)):
            begin = time.perf_counter()
            run(code, environment, tokenizer)
            if number > 1:
                found[name].append((time.perf_counter() - begin) * 1e3)
    limits = {"process": PROCESS_MS, "numpy alone": None}
    return [
        goal
        for name, values in found.items()
        for goal in percentiles(f"{name} ms", limits[name], values)
    ]


def inside(tokenizer: Path, other: Path, count: int, environment: dict[str, str]) -> list[Goal]:
    """Return times that processes measured by themselves, after they loaded another tokenizer."""
    progress(f"start: {tokenizer.name}")
    run(OURS, environment, tokenizer, other)
    rows = [json.loads(run(OURS, environment, tokenizer, other)) for _ in range(count)]
    columns = zip(*rows, strict=True)
    return [
        goal
        for (name, limit), values in zip(LIMITS.items(), columns, strict=True)
        for goal in percentiles(f"{tokenizer.name} {name}", limit, list(values))
    ]


def run(code: str, environment: dict[str, str], *tokenizers: Path) -> str:
    """Return what a fresh process printed."""
    command = [sys.executable, "-c", code, *map(str, tokenizers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
    return done.stdout


def percentiles(what: str, limit: float | None, values: list[float]) -> list[Goal]:
    """Return the median and the 99th percentile, which is the largest of up to a hundred."""
    values = sorted(values)
    last = values[min(len(values) - 1, int(0.99 * len(values)))]
    return [
        Goal(f"{what} p50", limit, statistics.median(values), is_most=True),
        Goal(f"{what} p99", limit, last, is_most=True),
    ]
