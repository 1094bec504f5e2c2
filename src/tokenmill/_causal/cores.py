"""How many cores this process may use; the hyperthreads of a core count once."""

from __future__ import annotations

import os
from pathlib import Path

from tokenmill._calls.threads import available

MAX_PROCESSES = 32
_CPUS = Path("/sys/devices/system/cpu")
_VARIABLE = "TOKENMILL_THREADS"


def physical_cores() -> int:
    """Return the cores, limited by affinity, control-group quota and TOKENMILL_THREADS."""
    return max(1, min(available(), _cores_of(_allowed_cpus())))


def thread_count() -> int:
    """Return the number of threads: TOKENMILL_THREADS, or one a core."""
    return available() if os.environ.get(_VARIABLE) else physical_cores()


def process_count() -> int:
    """Return the number of worker processes: half of the cores."""
    return max(1, min(MAX_PROCESSES, physical_cores() // 2))


def _allowed_cpus() -> list[int]:
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return list(range(os.cpu_count() or 1))


def _cores_of(cpus: list[int]) -> int:
    """Count groups of CPUs that share a core; an unknown CPU counts as a core."""
    return len({_siblings(cpu) or str(cpu) for cpu in cpus})


def _siblings(cpu: int) -> str:
    for name in ("core_cpus_list", "thread_siblings_list"):  # the old name of the same list
        try:
            return (_CPUS / f"cpu{cpu}" / "topology" / name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
    return ""
