"""How many threads this process may use: min(affinity, cgroup quota, environment or file)."""

from __future__ import annotations

import math
from functools import lru_cache

from tokenmill._core import environment
from tokenmill._errors import TokenmillError
from tokenmill._platform import cpus
from tokenmill._platform.cgroups import cpu_quota

_VARIABLE = "TOKENMILL_THREADS"
_CONFIG = "TOKENMILL_CONFIG"


def available() -> int:
    """Return the number of threads that calls use when they are given none."""
    count = len(allowed_cpus())
    for limit in (_quota(), _environment()):
        if limit is not None and limit < count:
            count = limit
    return max(1, count)


def allowed_cpus() -> set[int]:
    """Return the numbers of the CPUs that this process may run on."""
    return cpus.allowed_cpus()


def _environment() -> int | None:
    """Read TOKENMILL_THREADS, the file of TOKENMILL_CONFIG, or OMP_NUM_THREADS.

    Launchers set the last one for each process.
    """
    own = environment(_VARIABLE)
    if own:
        if not own.isascii() or not own.isdigit() or int(own) < 1:
            raise TokenmillError(
                f"expected a whole number of at least 1, got {own!r}",
                where=_VARIABLE,
                hint="set it to a number of threads, or unset it",
            )
        return int(own)
    if environment(_CONFIG) and (threads := _configured()) is not None:
        return threads
    openmp = environment("OMP_NUM_THREADS")
    if not openmp:
        return None
    openmp = openmp.split(",")[0].strip()
    return int(openmp) if openmp.isdigit() and int(openmp) > 0 else None


def _configured() -> int | None:
    from tokenmill._config import configured  # most processes have no such file

    return configured().threads


@lru_cache(maxsize=1)
def _quota() -> int | None:
    """Return the CPU limit of the control groups, rounded up; None where there is no limit."""
    quota = cpu_quota()
    return None if quota is None else max(1, math.ceil(quota))
