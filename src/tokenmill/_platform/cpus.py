"""The processors that this process may use."""

from __future__ import annotations

import os
import sys


def allowed_cpus() -> set[int]:
    """Return the numbers of the CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        cpus: set[int] = os.sched_getaffinity(0)
        return cpus
    if sys.platform == "win32":
        from tokenmill._platform import windows

        if mask := windows.affinity():
            return {cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1}
    return set(range(os.cpu_count() or 1))  # macOS has no limits of this kind


def load_average() -> float | None:
    """Return how many processes wanted a CPU in the last minute; None where nobody counts."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
