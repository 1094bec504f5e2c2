"""Small blocks, parts, streams and buckets, so that a small corpus has many of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from tokenmill._mill.plan import task
from tokenmill._mill.run import buckets, collect, feed, shards
from tokenmill._read import ReadRules, rules


@dataclass(frozen=True)
class Sizes:
    """Small sizes; none of them may change the output."""

    block_bytes: int = 4_000
    stream_bytes: int = 30_000
    part_bytes: int = 9_000
    bucket_tokens: int = 5_000
    buffer_bytes: int = 10_000
    batch_tokens: int = 3_000
    open_files: int = 3
    line_slack: int = 4_000  # with a document, more than the quarantine keeps of a record


SMALL = Sizes()


def shrink(put: Any = setattr, sizes: Sizes = SMALL) -> None:
    """Use other sizes; `put` is setattr, or pytest's monkeypatch.setattr."""
    own = partial(ReadRules, block_bytes=sizes.block_bytes, stream_bytes=sizes.stream_bytes)
    put(task, "ReadRules", own)
    put(rules, "LINE_SLACK", sizes.line_slack)
    put(feed, "PART_BYTES", sizes.part_bytes)
    put(buckets, "_BUCKET_TOKENS", sizes.bucket_tokens)
    put(buckets, "_BUFFER_BYTES", sizes.buffer_bytes)
    put(shards, "_BATCH_TOKENS", sizes.batch_tokens)
    put(collect, "_OPEN_FILES", sizes.open_files)
