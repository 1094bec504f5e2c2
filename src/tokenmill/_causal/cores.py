"""How many threads and processes a tokenizer of a dataset uses; hyperthreads do not count."""

from __future__ import annotations

import os

from tokenmill._calls.threads import available
from tokenmill._machine.cpus import physical_cores

MAX_PROCESSES = 32
_VARIABLE = "TOKENMILL_THREADS"


def thread_count() -> int:
    """Return the number of threads: TOKENMILL_THREADS, or one a core."""
    return available() if os.environ.get(_VARIABLE) else physical_cores()


def process_count() -> int:
    """Return the number of worker processes: half of the cores."""
    return max(1, min(MAX_PROCESSES, physical_cores() // 2))
