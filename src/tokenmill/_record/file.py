"""The file that TOKENMILL_STATS_FILE names: a process adds one line to it when it ends.

Off by default: a process without the variable does not import this.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._platform.memory import peak_bytes
from tokenmill._record.facts import ProcessRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._record.facts import RunFacts

VARIABLE = "TOKENMILL_STATS_FILE"
_lock = threading.Lock()
_began = time.perf_counter()
_runs: list[RunFacts] = []
_calls: dict[int, Callable[[], RunFacts]] = {}  # by the id of what they keep alive
_owner: int | None = None  # the process that will write


def cpu_seconds() -> float:
    """Return how much CPU time this process has had."""
    return time.process_time()


def is_recording() -> bool:
    """Whether somebody asked for the counters of this process."""
    return bool(os.environ.get(VARIABLE))


def add_run(facts: RunFacts) -> None:
    """Note a run that has ended."""
    with _lock:
        _start()
        _runs.append(facts)


def add_calls(key: int, facts: Callable[[], RunFacts]) -> None:
    """Ask for the facts of calls when the process ends; once for each key."""
    with _lock:
        _start()
        _calls.setdefault(key, facts)


def read_records(path: Path) -> list[ProcessRecord]:
    """Return what processes wrote, in the order in which they ended; no file, no records."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [ProcessRecord.from_json(json.loads(line)) for line in lines]


def _start() -> None:
    """Write at the end of this process; a forked child starts with nothing of its parent's."""
    global _owner  # noqa: PLW0603 -- of the process, as atexit is
    if _owner == os.getpid():
        return
    if _owner is None:
        atexit.register(_write)
    _owner = os.getpid()
    _runs.clear()
    _calls.clear()


def _write() -> None:
    path = os.environ.get(VARIABLE)
    if not path or _owner != os.getpid():
        return
    packed = {run.tokenizer for run in _runs}  # whose calls are in the run already
    calls = [facts() for facts in _calls.values()]
    record = ProcessRecord(
        pid=os.getpid(),
        command=tuple(sys.argv),
        seconds=time.perf_counter() - _began,
        cpu_seconds=cpu_seconds(),
        peak_mb=peak_bytes() / (1 << 20),
        runs=(*_runs, *(run for run in calls if run.tokenizer not in packed and run.documents)),
    )
    line = json.dumps(record.as_json()) + "\n"
    # At exit nobody could handle an error, and the line is a courtesy. Without a buffer it is
    # written at once, so that those of other processes do not come in between.
    with contextlib.suppress(OSError), Path(path).open("ab", buffering=0) as file:
        file.write(line.encode())
