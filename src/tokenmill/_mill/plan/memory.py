"""How many workers fit a memory limit, and how long a document may be under it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenmill._calls.options import thread_count
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from tokenmill._tokenizer import Tokenizer

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?", re.IGNORECASE)
# What a run needs whatever the input: the interpreter and its libraries, and per worker the word
# tables and a few blocks in their stages (docs/develop/log.md has the measurement).
_BASE_BYTES = 150 << 20
_WORKER_BYTES = 120 << 20
_LONGEST = 1 << 30
_COPIES = 8  # of a document that are in memory at once: line, text, ids, and their growth


def parse_size(text: int | str, where: str) -> int:
    """Read a size in bytes: 2000000, "2GB", "512MiB"."""
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise OptionError(f"expected a size as 2GB, got {text!r}", where=where)
    unit = (match[2] or "").lower()
    return int(float(match[1]) * {**_UNITS, **_BINARY}[unit])


def affordable_workers(
    workers: int | None, memory_limit: int | str | None, tokenizer: Tokenizer
) -> int:
    """Return the number of workers: what was asked for, or fewer where memory is limited."""
    count = thread_count(workers, "workers")
    if memory_limit is None:
        return count
    limit = parse_size(memory_limit, "memory_limit")
    base = _BASE_BYTES + tokenizer.memory().get("model", 0)
    fit = (limit - base) // _WORKER_BYTES
    if fit < 1:
        need = (base + _WORKER_BYTES) / 1e6
        raise OptionError(
            f"one worker needs about {need:.0f} MB, got {limit / 1e6:.0f} MB",
            where="memory_limit",
            hint="raise the limit",
        )
    return int(min(count, fit))


def longest_document(given: int | None, memory_limit: int | str | None) -> int:
    """Return how many bytes a document may have: what was given, or what fits the memory."""
    if given is not None:
        return given
    if memory_limit is None:
        return _LONGEST
    return max(1 << 20, min(_LONGEST, parse_size(memory_limit, "memory_limit") // _COPIES))
