"""Limits that control groups set for this process: version 1 and version 2 of Linux's groups.

Any group from the process's own up to the root may hold a limit. Inside a container the path may
be the host's; then only the root is there to be read.
"""

from __future__ import annotations

# Paths are strings here: pathlib would be half of the first call of a process.
ROOT = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"


def cpu_quota() -> float | None:
    """Return how many CPUs the groups allow, e.g. 1.5; None where there is no limit."""
    limits = [_quota_v2(folder) for folder in _folders("")]
    limits += [_quota_v1(folder) for folder in _folders("cpu")]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def memory_limits() -> list[tuple[int, int]]:
    """Return limit and bytes left of each group that has a limit; what is left may be negative.

    Cached files that can be evicted do not count as used.
    """
    names = ("memory.max", "memory.current", "inactive_file")
    found = [_memory(folder, *names) for folder in _folders("")]
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    found += [_memory(folder, *names) for folder in _folders("memory")]
    return [limit for limit in found if limit is not None]


def read_text(path: str) -> str:
    """Return the text of a small file of the kernel; an empty one if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _folders(controller: str) -> list[str]:
    """Return this process's group of a controller and those above it; "" is version 2."""
    for line in read_text(MEMBERSHIP).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controller == controllers or (controller and controller in controllers.split(",")):
            root = f"{ROOT}/{controller}" if controller else ROOT
            parts = [part for part in path.split("/") if part not in ("", "..")]
            return ["/".join([root, *parts[:n]]) for n in range(len(parts), -1, -1)]
    return []


def _quota_v2(folder: str) -> float | None:
    quota, period = (*read_text(f"{folder}/cpu.max").split(), "", "")[:2]
    return _ratio(quota, period)


def _quota_v1(folder: str) -> float | None:
    return _ratio(
        read_text(f"{folder}/cpu.cfs_quota_us").strip(),
        read_text(f"{folder}/cpu.cfs_period_us").strip(),
    )


def _ratio(quota: str, period: str) -> float | None:
    """Divide; `max`, -1 and an empty file mean no limit."""
    if not (quota.isdigit() and period.isdigit()) or int(period) == 0:
        return None
    return int(quota) / int(period)


def _memory(folder: str, limit: str, used: str, reclaimable: str) -> tuple[int, int] | None:
    most, now = read_text(f"{folder}/{limit}").strip(), read_text(f"{folder}/{used}").strip()
    if not (most.isdigit() and now.isdigit()):
        return None
    for line in read_text(f"{folder}/memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == reclaimable and value.isdigit():
            return int(most), int(most) - int(now) + int(value)
    return int(most), int(most) - int(now)
