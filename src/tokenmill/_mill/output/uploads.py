"""Uploads in the background: a few at once, and no more waiting than the disk should hold."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 4
_WAITING = 8  # deliveries that are not uploaded yet, each a shard: more make their workers wait


class Uploads:
    """Runs tasks in threads of its own; the first error ends all and is raised to those who ask."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pool: ThreadPoolExecutor | None = None
        self._pending = 0
        self._error: BaseException | None = None
        self._is_stopped = False

    def add(self, task: Callable[[], None]) -> None:
        """Run a task soon; wait while there are too many."""
        with self._changed:
            while self._pending >= _WAITING and self._error is None:
                self._changed.wait(0.2)  # with a timeout, so that Ctrl-C is noticed
            self._check()
            self._pending += 1
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_AT_ONCE)
            self._pool.submit(self._run, task)

    def settle(self) -> None:
        """Wait until all tasks are done."""
        with self._changed:
            while self._pending and self._error is None:
                self._changed.wait(0.2)
            self._check()

    def stop(self) -> None:
        """Leave out what has not begun, and wait for what has."""
        with self._changed:
            self._is_stopped = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self, task: Callable[[], None]) -> None:
        try:
            if not self._is_stopped and self._error is None:
                task()
        except BaseException as error:
            with self._changed:
                self._error = self._error or error
        finally:
            with self._changed:
                self._pending -= 1
                self._changed.notify_all()
