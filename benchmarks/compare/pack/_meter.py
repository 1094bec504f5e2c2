"""Runs one command in a fresh process and measures it from outside, with all its children."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

INTERVAL_SECONDS = 0.05
PAGE_MIB = resource.getpagesize() / (1 << 20)
MISSED = (FileNotFoundError, ProcessLookupError, ValueError)  # ended during the look-up


@dataclass(frozen=True)
class Measured:
    """One run. `peak_mib` is the resident memory of all processes together.

    `private_mib` excludes mapped files: it is what the library allocates.
    """

    status: int  # exit status; minus the signal that ended it
    seconds: float
    cpu_seconds: float  # of the process and the children it waited for
    peak_mib: float
    private_mib: float
    load: float  # load average of the machine when the run started
    log: str

    @property
    def failure(self) -> str:
        """Return why it failed in one line; empty when it did not."""
        if self.status == 0:
            return ""
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        return f"exit {self.status}: {lines[-1][:160] if lines else 'no message'}"


def measure(
    command: Sequence[str],
    request: str,
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float = 3600,
) -> Measured:
    """Run a command with `request` on stdin, both outputs into the file `log`."""
    os.sync()  # what others wrote must not be waited for in this run's fsync
    load = os.getloadavg()[0]
    asked = log.with_suffix(".request")
    asked.write_text(request)
    with asked.open("rb") as source, log.open("wb") as sink:
        begin = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603  our own files, interpreters named by the user
            command, stdin=source, stdout=sink, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True,
        )  # fmt: skip
        watch = Watch(process.pid, timeout)
        # Not process.wait(): this one also gives the memory and the time that were used.
        _, code, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        watch.stop()
        process.returncode = os.waitstatus_to_exitcode(code)
    return Measured(
        status=process.returncode,
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        peak_mib=max(watch.resident, own_peak_mib(usage)),
        private_mib=watch.private,
        load=load,
        log=log.read_text(errors="replace"),
    )


def own_peak_mib(usage: resource.struct_rusage) -> float:
    """Return the peak of the largest process; 0 if it may be this one's, from the fork."""
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage.ru_maxrss / 1024 if usage.ru_maxrss > floor else 0.0


class Watch(threading.Thread):
    """Looks at the memory of a process and all its children until it is stopped."""

    def __init__(self, pid: int, timeout: float) -> None:
        super().__init__(daemon=True)
        self.resident = 0.0
        self.private = 0.0
        self._pid = pid
        self._ends = time.monotonic() + timeout
        self._stopped = threading.Event()
        self.start()

    def run(self) -> None:
        """Take the largest sums; end the session of a process that runs too long."""
        while not self._stopped.wait(INTERVAL_SECONDS):
            resident, private = tree_mib(self._pid)
            self.resident = max(self.resident, resident)
            self.private = max(self.private, private)
            if time.monotonic() > self._ends:
                os.killpg(self._pid, signal.SIGKILL)
                return

    def stop(self) -> None:
        """Take no more."""
        self._stopped.set()
        self.join()


def tree_mib(pid: int) -> tuple[float, float]:
    """Return resident memory of a process and its children, with and without mapped files."""
    resident = private = 0.0
    for one in descendants(pid):
        try:
            fields = Path(f"/proc/{one}/statm").read_text().split()
            resident += int(fields[1]) * PAGE_MIB
            private += (int(fields[1]) - int(fields[2])) * PAGE_MIB
        except (*MISSED, IndexError):
            continue
    return resident, private


def descendants(pid: int) -> Iterator[int]:
    """Yield a process and all below it."""
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except MISSED:
        return
    for thread in threads:
        try:
            children = (thread / "children").read_text().split()
        except MISSED:
            continue
        for child in children:
            yield from descendants(int(child))
