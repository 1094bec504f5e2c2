"""Memory: what the machine has, what is left for this process, and large pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tokenmill._platform.cgroups import memory_limits, read_text

_MEMINFO = Path("/proc/meminfo")
_LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_UNKNOWN = 4 << 30


@dataclass(frozen=True)
class MemoryFacts:
    """Bytes of memory; None where the system does not say."""

    total: int | None
    available: int | None  # in the machine, without swapping
    limit: int | None  # the lowest one of the control groups, if it is below the total
    left: int  # for this process: the least of what machine and groups have left
    large_pages: str | None  # always, madvise or never: whether the kernel uses them by itself
    large_page_bytes: int | None


def read_memory() -> MemoryFacts:
    """Read what the system says about its memory."""
    machine = _meminfo()
    total = machine.get("MemTotal")
    limits = [limit for limit, _ in memory_limits() if total is None or limit < total]
    chosen = re.search(r"\[(\w+)\]", read_text(str(_LARGE_PAGES)))
    return MemoryFacts(
        total=total,
        available=machine.get("MemAvailable"),
        limit=min(limits, default=None),
        left=available_bytes(),
        large_pages=chosen[1] if chosen else None,
        large_page_bytes=machine.get("Hugepagesize"),
    )


def available_bytes() -> int:
    """Return how much memory is left for this process, in the machine and in control groups."""
    known = [left for _, left in memory_limits()]
    if (machine := _meminfo().get("MemAvailable")) is not None:
        known.append(machine)
    return max(0, min(known)) if known else _UNKNOWN


def _meminfo() -> dict[str, int]:
    """Read the lines of meminfo that are sizes, in bytes."""
    found = {}
    for line in read_text(str(_MEMINFO)).splitlines():
        name, _, value = line.partition(":")
        number, _, unit = value.strip().partition(" ")
        if number.isdigit() and unit == "kB":
            found[name] = int(number) * 1024
    return found
