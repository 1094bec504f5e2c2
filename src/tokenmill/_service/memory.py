"""Resident memory of the process against a limit: release what can be made again, then shed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._platform.memory import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

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
