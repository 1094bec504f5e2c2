"""How many threads this process may use: min(affinity, cgroup quota, environment)."""

from __future__ import annotations

import math
import os
from functools import lru_cache

from tokenmill._core import environment
from tokenmill._errors import TokenmillError

_VARIABLE = "TOKENMILL_THREADS"
# Paths are strings here: pathlib would be half of the first call of a process.
_CGROUPS = "/sys/fs/cgroup"
_MEMBERSHIP = "/proc/self/cgroup"


def available() -> int:
    """Return the number of threads that calls use when they are given none."""
    count = _affinity()
    for limit in (_quota(), _environment()):
        if limit is not None and limit < count:
            count = limit
    return max(1, count)


def _affinity() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _environment() -> int | None:
    """Read TOKENMILL_THREADS, or OMP_NUM_THREADS, which launchers set for each process."""
    own = environment(_VARIABLE)
    if own:
        if not own.isascii() or not own.isdigit() or int(own) < 1:
            raise TokenmillError(
                f"expected a whole number of at least 1, got {own!r}",
                where=_VARIABLE,
                hint="set it to a number of threads, or unset it",
            )
        return int(own)
    openmp = environment("OMP_NUM_THREADS")
    if not openmp:
        return None
    openmp = openmp.split(",")[0].strip()
    return int(openmp) if openmp.isdigit() and int(openmp) > 0 else None


@lru_cache(maxsize=1)
def _quota() -> int | None:
    """Return the CPU limit of the control group, rounded up; None where there is no limit."""
    limits = []
    for line in _read(_MEMBERSHIP).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            limits += [_quota_v2(folder) for folder in _upwards(_CGROUPS, path)]
        elif "cpu" in controllers.split(","):
            limits += [_quota_v1(folder) for folder in _upwards(f"{_CGROUPS}/cpu", path)]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def _upwards(root: str, path: str) -> list[str]:
    """Return the group's folder and those above it: any of them may hold the limit.

    Inside a container the path may be the host's; then only the root is there to be read.
    """
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return ["/".join([root, *parts[:n]]) for n in range(len(parts), -1, -1)]


def _quota_v2(folder: str) -> int | None:
    quota, period = (*_read(f"{folder}/cpu.max").split(), "", "")[:2]
    return _ratio(quota, period)


def _quota_v1(folder: str) -> int | None:
    return _ratio(
        _read(f"{folder}/cpu.cfs_quota_us").strip(), _read(f"{folder}/cpu.cfs_period_us").strip()
    )


def _ratio(quota: str, period: str) -> int | None:
    """Divide, rounded up; `max`, -1 and an empty file mean no limit."""
    if not (quota.isdigit() and period.isdigit()) or int(period) == 0:
        return None
    return max(1, math.ceil(int(quota) / int(period)))


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 -- see above
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
