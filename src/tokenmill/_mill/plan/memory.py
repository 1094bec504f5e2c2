"""How many workers fit a memory limit, and how long a document may be under it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenmill._calls.options import thread_count
from tokenmill._errors import OptionError
from tokenmill._store import IN_FLIGHT, RANGE_BYTES

if TYPE_CHECKING:
    from tokenmill._tokenizer import Tokenizer

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?", re.IGNORECASE)
# What a run needs with any tokenizer: the interpreter and its libraries, and per worker a few
# blocks in their stages (docs/develop/log.md has the measurement).
_BASE_BYTES = 150 << 20
_BLOCKS_BYTES = 83 << 20
_USUAL_BLOCK = 8 << 20  # with which it was measured
# What a worker reads, and the starts of what it and others will read next.
_AHEAD_BYTES = 2 * IN_FLIGHT * RANGE_BYTES
# Four uploads at once, each with five parts of 8 MB.
_UPLOAD_BYTES = 160 << 20
# Used if it cannot be measured: on the reference path the tables belong to a library.
_USUAL_TABLES = 37 << 20
_LONGEST = 1 << 30
_COPIES = 8  # of a document in memory at once: line, text, ids, and room for them to grow


def parse_size(text: int | str, where: str) -> int:
    """Read a size in bytes: 2000000, "2GB", "512MiB"."""
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise OptionError(f"expected a size such as 2GB, got {text!r}", where=where)
    unit = (match[2] or "").lower()
    return int(float(match[1]) * {**_UNITS, **_BINARY}[unit])


def worker_count(workers: int | None) -> int:
    """Return the number of workers without regard to memory: as asked for, or all CPUs."""
    return thread_count(workers, "workers")


def affordable_workers(
    workers: int | None,
    memory_limit: int | str | None,
    tokenizer: Tokenizer,
    block_bytes: int = _USUAL_BLOCK,
    *,
    from_store: bool = False,
    to_store: bool = False,
) -> int:
    """Return the number of workers: as many as asked for, or fewer if memory is limited.

    The model is counted once, because workers share it, and the word tables once per worker. With
    `from_store`, ranges of objects wait in memory, with `to_store` parts of uploads.
    """
    count = worker_count(workers)
    if memory_limit is None:
        return count
    limit = parse_size(memory_limit, "memory_limit")
    model, tables = model_memory(tokenizer)
    blocks = _BLOCKS_BYTES * block_bytes // _USUAL_BLOCK
    ahead = _AHEAD_BYTES if from_store else 0
    base = _BASE_BYTES + model + (_UPLOAD_BYTES if to_store else 0)
    worker = blocks + tables + ahead
    fit = (limit - base) // worker
    if fit < 1:
        raise OptionError(
            f"one worker needs about {(base + worker) / 1e6:.0f} MB, got {limit / 1e6:.0f} MB",
            where="memory_limit",
            hint="raise the limit",
        )
    return int(min(count, fit))


def model_memory(tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the bytes of the model, and of the tables that one worker fills with words."""
    use = tokenizer.memory()
    return (use["mapped"], use["large_tables"]) if use else (0, _USUAL_TABLES)


def longest_document(given: int | None, memory_limit: int | str | None) -> int:
    """Return how many bytes a document may have: as given, or what fits the memory."""
    if given is not None:
        return given
    if memory_limit is None:
        return _LONGEST
    return max(1 << 20, min(_LONGEST, parse_size(memory_limit, "memory_limit") // _COPIES))
