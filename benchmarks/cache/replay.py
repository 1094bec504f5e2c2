#!/usr/bin/env python3
"""What the segment cache saves: seconds of encoding with and without it, on three traces.

    python benchmarks/cache/replay.py --tokenizer qwen2.5/tokenizer.json --marks '<|im_start|>' \
        '<|im_end|>' --prose en_web.txt.xz --schemas json.txt.xz

Every answer of the cache is compared before its time counts. Plain and cached runs take turns.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import _traces

import tokenmill
from tokenmill._cache import SegmentCache

PROSE = 24_000_000
ROUNDS = 3
LEAST = (256, 1024, 2048, 4096, 8192, 16384)
CUTS = (0, 4096, 8192, 16384, 32768)
Traces = dict[str, list[str]]


def main() -> None:
    """Measure, print a table, write the result file."""
    arguments = parser_of(__doc__).parse_args()
    tokenizer = tokenmill.Tokenizer.load(arguments.tokenizer)
    prose = _traces.read_text(arguments.prose, PROSE)
    schemas = _traces.read_text(arguments.schemas, PROSE)
    message = _traces.chat(tuple(arguments.marks))
    traces = {
        "conversations": _traces.conversations(prose, schemas, message),
        "growing, no tokens": _traces.conversations(prose, schemas, _traces.plain),
        "independent": _traces.independent(prose),
    }
    rows = []
    for name, trace in traces.items():
        rows += [{"trace": name, **row} for row in measure(tokenizer, trace)]
    rows += sweep(tokenizer, traces)
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    if arguments.results:
        write(arguments, rows)


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """Return the command line of the scripts in this folder."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--marks", nargs=2, required=True, help="tokens around a message")
    parser.add_argument("--prose", type=Path, required=True)
    parser.add_argument("--schemas", type=Path, required=True)
    parser.add_argument("--results", type=Path, help="a folder; none is written without it")
    return parser


def measure(tokenizer: tokenmill.Tokenizer, trace: list[str]) -> list[dict[str, Any]]:
    """Time a trace without the cache, and with caches that begin empty."""
    ways: dict[str, dict[str, Any]] = {
        "default": {},
        "without cuts": {"cut_bytes": 0},
        "never off": {"adaptive": False},
    }
    for way in ways.values():
        compare(tokenizer, trace, SegmentCache(**way))
    times: dict[str, list[float]] = {name: [] for name in ("plain", *ways)}
    stats = {}
    for _ in range(ROUNDS):
        times["plain"].append(seconds(tokenizer.encode, trace))
        for name, way in ways.items():
            cache = SegmentCache(**way)
            times[name].append(seconds(lambda text, c=cache: c.encode(tokenizer, text), trace))
            stats[name] = cache.stats()
    megabytes = sum(len(text.encode()) for text in trace) / 1e6
    row = {"requests": len(trace), "megabytes": round(megabytes, 1)}
    rows = [{**row, "way": "plain", "seconds": round(min(times["plain"]), 4)}]
    for name in ways:
        memory, saved = stats[name]["memory"], stats[name]["saved_seconds"]
        rows.append({
            **row,
            "way": name,
            "seconds": round(min(times[name]), 4),
            "hit_megabytes": round(memory["hit_bytes"] / 1e6, 1),
            "lookups": memory["lookups"],
            "cache_says_saved": round(saved, 4),
            "held_megabytes": round(memory["bytes"] / 1e6, 1),
        })  # fmt: skip
    return rows


def sweep(tokenizer: tokenmill.Tokenizer, traces: Traces) -> list[dict[str, Any]]:
    """Time the traces for several values of `min_bytes` and of `cut_bytes`."""
    rows = []
    for option, values in {"min_bytes": LEAST, "cut_bytes": CUTS}.items():
        for name, trace in traces.items():
            best = dict.fromkeys(values, float("inf"))
            for _ in range(ROUNDS):
                for value in values:
                    cache = cache_of({"adaptive": False, option: value})
                    took = seconds(lambda text, c=cache: c.encode(tokenizer, text), trace)
                    best[value] = min(best[value], took)
            rows += [{"trace": name, option: k, "seconds": round(v, 4)} for k, v in best.items()]
    return rows


def cache_of(options: dict[str, Any]) -> SegmentCache:
    """Make a cache of some options."""
    return SegmentCache(**options)


def compare(tokenizer: tokenmill.Tokenizer, trace: list[str], cache: SegmentCache) -> None:
    """Stop if one id is another one."""
    for text in trace:
        if (cache.encode(tokenizer, text) != tokenizer.encode(text)).any():
            raise SystemExit("the cache returned other ids")


def seconds(encode: Any, trace: list[str]) -> float:
    """Encode all requests, one after the other."""
    begin = time.perf_counter()
    for text in trace:
        encode(text)
    return time.perf_counter() - begin


def write(arguments: argparse.Namespace, rows: list[dict[str, Any]], kind: str = "cache") -> None:
    """Add a file to the results."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    name = arguments.tokenizer.parent.name
    facts: dict[str, Any] = {
        "date": today,
        "commit": commit,
        "machine": cpu_name(),
        "tokenmill": tokenmill.__version__,
        "python": platform.python_version(),
        "tokenizer": name,
        "rows": rows,
    }
    words = facts["machine"].replace("(R)", "").lower().split()[:2]
    path = arguments.results / f"{kind}-{today}-{'-'.join(words)}-{name}.json"
    path.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


def cpu_name() -> str:
    """Name the CPU, as the system calls it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
