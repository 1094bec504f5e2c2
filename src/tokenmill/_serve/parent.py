"""The process that starts workers, starts them again when they die, and stops them."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from tokenmill._platform.signals import hold_back, let_through, wait_for_signal
from tokenmill._serve.log import ServeLog
from tokenmill._serve.team import Team
from tokenmill._serve.worker import CANNOT_START, DONE, ServeWorker

if TYPE_CHECKING:
    import socket

    from tokenmill._serve.options import ServeOptions

_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
_QUICK_DEATH = 1.0  # seconds: a worker that lives no longer is started again later, not at once
_LONGEST_PAUSE = 5.0
_KILL_AFTER = 2.0  # seconds after the grace period


class Parent:
    """Keeps as many workers as were asked for. It serves nothing and holds no model itself."""

    def __init__(self, options: ServeOptions, sockets: list[socket.socket]) -> None:
        self._options = options
        self._sockets = sockets
        self._log = ServeLog(as_json=options.json_logs, who="serve")
        self._team = Team(len(options.models), options.workers)
        self._rows: dict[int, int] = {}  # by process
        self._begun: dict[int, float] = {}
        self._due: dict[int, float] = {}  # rows whose worker is to be started, and when
        self._pauses = [0.0] * options.workers
        self._is_stopping = False
        self._status = DONE

    def run(self) -> int:
        """Start the workers and keep them; return the exit status when all are gone."""
        hold_back(_SIGNALS)  # they are waited for, below
        for row in range(self._options.workers):
            self._start(row, is_first=True)
        deadline = float("inf")
        while self._rows or (self._due and not self._is_stopping):
            number = self._wait()
            if number in (signal.SIGTERM, signal.SIGINT) and not self._is_stopping:
                deadline = self._stop()
            self._bury()
            if self._is_stopping:
                if time.monotonic() > deadline:
                    self._signal(signal.SIGKILL)
            else:
                self._start_due()
            if self._status != DONE and not self._is_stopping:
                deadline = self._stop()
        return self._status

    def _wait(self) -> int:
        """Wait for a signal, or for the time at which something is to be done."""
        now = time.monotonic()
        pause = min([0.5, *(due - now for due in self._due.values())])
        return wait_for_signal(_SIGNALS, pause) or 0

    def _start(self, row: int, *, is_first: bool) -> None:
        process = os.fork()
        if process == 0:
            self._become_worker(row, is_first=is_first)
        self._rows[process] = row
        self._begun[process] = time.monotonic()
        if not is_first:
            self._team.gauges.add(row, "restarts")
            self._log.info("worker started again", worker=row, pid=process)

    def _become_worker(self, row: int, *, is_first: bool) -> None:
        """Serve in the forked process, which never returns from here."""
        status = 1
        try:
            let_through(_SIGNALS)
            self._team.claim(row)
            # The first one answers health checks from the start; the others have models to offer.
            waits = not is_first or row > 0
            worker = ServeWorker(self._options, self._sockets, self._team, waits=waits)
            status = worker.run()
        except BaseException as error:
            self._log.error("worker failed", worker=row, error=repr(error))
        finally:
            os._exit(status)

    def _bury(self) -> None:
        """Take the exit status of workers that ended."""
        while self._rows:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return
            row = self._rows.pop(process)
            self._team.leave(row)
            lived = time.monotonic() - self._begun.pop(process)
            if self._is_stopping:
                continue
            code = os.waitstatus_to_exitcode(status)
            if code == CANNOT_START:
                self._status = 1
                continue
            self._log.error("worker ended", worker=row, pid=process, status=code)
            pause = min(_LONGEST_PAUSE, 2 * self._pauses[row] + 0.1) if lived < _QUICK_DEATH else 0
            self._pauses[row] = pause
            self._due[row] = time.monotonic() + pause

    def _start_due(self) -> None:
        now = time.monotonic()
        for row in [row for row, due in self._due.items() if due <= now]:
            del self._due[row]
            self._start(row, is_first=False)

    def _stop(self) -> float:
        """Ask the workers to end; return the time after which they are made to."""
        self._is_stopping = True
        self._signal(signal.SIGTERM)
        return time.monotonic() + self._options.http.grace_seconds + _KILL_AFTER

    def _signal(self, number: int) -> None:
        for process in self._rows:
            os.kill(process, number)
