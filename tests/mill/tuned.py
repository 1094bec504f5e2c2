"""Small blocks, parts, streams and buckets, so that a small corpus has many of each.

`python -m tests.mill.tuned '{"inputs": [...], "output": ...}'` runs `pack` with them: a process of
its own, which a test may kill.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tokenmill._pipeline import deal, feed, prepare, shards
from tokenmill._read import ReadRules

BLOCK_BYTES = 4_000
STREAM_BYTES = 30_000
PART_BYTES = 9_000


def small_rules(**options: Any) -> ReadRules:  # noqa: ANN401
    return ReadRules(**options, block_bytes=BLOCK_BYTES, stream_bytes=STREAM_BYTES)


def shrink(put: Any = setattr) -> None:  # noqa: ANN401 -- pytest's monkeypatch.setattr, or this
    put(prepare, "ReadRules", small_rules)
    put(feed, "PART_BYTES", PART_BYTES)
    put(deal, "_BUCKET_TOKENS", 5_000)
    put(deal, "_BUFFER_BYTES", 10_000)
    put(shards, "_BATCH_TOKENS", 3_000)


def main(arguments: list[str]) -> None:
    shrink()
    options = json.loads(arguments[0])
    inputs = options.pop("inputs")
    prepare.pack(inputs, **options)


if __name__ == "__main__":
    main(sys.argv[1:])
