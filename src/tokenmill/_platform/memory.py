"""The memory of this process, and of the machine, in bytes. None where the system does not say."""

from __future__ import annotations

import os
import sys

_STATM = "/proc/self/statm"  # pages: all, resident, ...
_KIB = 1 if sys.platform == "darwin" else 1024  # what macOS counts in bytes, others count in KiB


def peak_bytes() -> int:
    """Return the most memory that this process has had, resident; 0 where nobody counts."""
    if sys.platform == "win32":
        from tokenmill._platform import windows

        return windows.memory()[1]
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def resident_bytes() -> int | None:
    """Return the memory that this process has now, resident."""
    if sys.platform == "win32":
        from tokenmill._platform import windows

        return windows.memory()[0] or None
    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None


def physical_bytes() -> int | None:
    """Return the memory of the machine."""
    if sys.platform == "win32":
        from tokenmill._platform import windows

        return windows.physical_memory() or None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
