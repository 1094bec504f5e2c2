"""Peaks of memory of a process, with as little of the system's own doing in them as can be."""

from __future__ import annotations

import ctypes
import resource

_THP_DISABLE = 41  # PR_SET_THP_DISABLE


def refuse_large_pages() -> None:
    """Take pages of 4 KB: larger ones come as the system likes, and change the peak by themselves.

    Where the system has no such call, nothing happens.
    """
    ctypes.CDLL(None).prctl(_THP_DISABLE, 1, 0, 0, 0)


def peak_mb() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
