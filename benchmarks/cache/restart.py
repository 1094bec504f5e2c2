#!/usr/bin/env python3
"""What the disk tier saves after a restart.

Fresh processes encode without a cache, with an empty one, and with the file that another left:

    python benchmarks/cache/restart.py --tokenizer qwen2.5/tokenizer.json --marks '<|im_start|>' \
        '<|im_end|>' --prose en_web.txt.xz --schemas json.txt.xz --results benchmarks/results

All ways must give the same ids. Times are CPU seconds of the process; opening the file, which is
verified page by page, is a time of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from typing import Any

import _traces
from replay import PROSE, parser_of, write

import tokenmill
from tokenmill._cache import SegmentCache

WAYS = ("plain", "empty", "fill", "restarted")
FIRST = 100
ROUNDS = 3


def main() -> None:
    """Run each way in fresh processes, print and keep the best times."""
    parser = parser_of(__doc__)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        json.dump(run(arguments), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as folder:
        start("fill", folder)
        found = [
            start(way, folder) for _ in range(ROUNDS) for way in ("plain", "empty", "restarted")
        ]
    if len({one["ids"] for one in found}) != 1:
        raise SystemExit("the ways gave different ids")
    rows = []
    for way in ("plain", "empty", "restarted"):
        same = [one for one in found if one["way"] == way]
        times = {name: min(one[name] for one in same) for name in ("open", "first", "all")}
        rows.append({"trace": "conversations", **same[0], **times})
        print(rows[-1])
    if arguments.results:
        write(arguments, rows, kind="cache-restart")


def start(way: str, folder: str) -> dict[str, Any]:
    """Run one way in a process of its own."""
    command = [sys.executable, __file__, *sys.argv[1:], "--way", way, "--folder", folder]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Encode the trace in one way; return its times and a digest of the ids."""
    tokenizer = tokenmill.Tokenizer.load(arguments.tokenizer)
    prose = _traces.read_text(arguments.prose, PROSE)
    schemas = _traces.read_text(arguments.schemas, PROSE)
    trace = _traces.conversations(prose, schemas, _traces.chat(tuple(arguments.marks)))
    tokenizer.encode(prose[-1_000_000:])  # the word tables of a service are warm soon
    clock = time.process_time
    begin = clock()
    disk = arguments.folder if arguments.way in ("fill", "restarted") else None
    cache = None if arguments.way == "plain" else SegmentCache(disk=disk)
    opened = clock() - begin
    digest, times = hashlib.sha256(), []
    for text in trace:
        begin = clock()
        ids = tokenizer.encode(text) if cache is None else cache.encode(tokenizer, text)
        times.append(clock() - begin)
        digest.update(ids.tobytes())
    hits = 0 if cache is None else cache.stats()["memory"]["hit_bytes"]
    if cache is not None:
        cache.close()
    return {"way": arguments.way, "requests": len(trace), "ids": digest.hexdigest()[:16],
            "open": round(opened, 5), "first": round(sum(times[:FIRST]), 5),
            "all": round(sum(times), 5), "memory_hit_megabytes": round(hits / 1e6, 1)}  # fmt: skip


if __name__ == "__main__":
    main()
