"""Resident memory of the process against a limit: release what can be made again, then shed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_STATM = "/proc/self/statm"  # pages: all, resident, ...
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_COME_BACK = 0.95  # of the limit: a process at its limit would go back and forth


class MemoryGuard:
    """Looks at the resident memory now and then; `is_over` says whether to refuse requests."""

    def __init__(self, limit: int | None, resident: Callable[[], int | None] | None = None) -> None:
        self.limit = limit
        self.is_over = False
        self.releases = 0  # how often it had to
        self.hooks: list[Callable[[], object]] = []
        self._resident = resident or resident_bytes

    def look(self) -> bool:
        """Measure; above the limit run the hooks and measure again. Returns `is_over`."""
        if self.limit is None:
            return False
        now = self._resident()
        if now is not None and now > self.limit:
            self.releases += 1
            for hook in self.hooks:
                hook()
            now = self._resident()
        if now is not None:
            self.is_over = now > self.limit * (_COME_BACK if self.is_over else 1.0)
        return self.is_over


def resident_bytes() -> int | None:
    """Return the resident bytes of this process; None where the system does not say."""
    try:
        with open(_STATM, "rb") as file:  # noqa: PTH123 -- once a second, on the event loop
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return None
