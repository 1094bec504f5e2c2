"""Runs a command under a profiler, if there is one, and gathers what it and its tokenizers did."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._advice.advise import advise
from tokenmill._machine.facts import describe_machine
from tokenmill._profile.hot import HotFunction, allocations, hot_functions
from tokenmill._profile.tools import find_memray, find_py_spy, py_spy_options
from tokenmill._record.file import VARIABLE, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._advice.advice import Advice
    from tokenmill._record.facts import ProcessRecord, RunFacts

Profiler = Literal["py-spy", "memray", "none"]
_LAUNCH = "tokenmill._profile.launch"
_SIGNALLED = 128  # and the number of the signal, as shells count
_INTERRUPTED = _SIGNALLED + signal.SIGINT
_GRACE = 30  # seconds that a command may take to end after Ctrl-C


@dataclass(frozen=True)
class ProfiledRun:
    """One run of the command's processes, and what to change about it."""

    facts: RunFacts
    advice: list[Advice]


@dataclass(frozen=True)
class ProfileReport:
    """What a command did: processes, runs, functions, and notes on what could not be looked at."""

    command: tuple[str, ...]
    status: int
    seconds: float
    processes: list[ProcessRecord]
    runs: list[ProfiledRun]
    functions: list[HotFunction]
    functions_by: Profiler
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "command": list(self.command),
            "status": self.status,
            "seconds": self.seconds,
            "processes": [
                {k: v for k, v in process.as_json().items() if k != "runs"}
                for process in self.processes
            ],
            "runs": [
                {**run.facts.as_json(), "hints": [advice.as_json() for advice in run.advice]}
                for run in self.runs
            ],
            "functions_by": self.functions_by,
            "functions": [vars(function) for function in self.functions],
            "notes": self.notes,
        }


def profile(
    command: Sequence[str], profiler: Profiler = "py-spy", *, quiet_output: bool = False
) -> ProfileReport:
    """Run a command; `quiet_output` sends what it prints to stderr."""
    with TemporaryDirectory(prefix="tokenmill-profile-") as name:
        child = _Child(Path(name), list(command), profiler)
        status = child.run(quiet_output=quiet_output)
        records = read_records(child.stats)
        functions = child.functions()
    facts = sorted(
        (run for record in records for run in record.runs),
        key=lambda run: run.thread_seconds,
        reverse=True,
    )
    machine = cache(partial(describe_machine, gpu=False))
    runs = [ProfiledRun(run, advise(run, machine(run.output or "."))) for run in facts]
    return ProfileReport(
        tuple(command), status, child.seconds, records, runs, functions, profiler, child.notes
    )


class _Child:
    """The command, with the profiler around it and the files that they write."""

    def __init__(self, folder: Path, command: list[str], profiler: Profiler) -> None:
        self.stats = folder / "stats"
        self.notes: list[str] = []
        self.seconds = 0.0
        self._status = folder / "status"
        self._stacks = folder / "stacks"
        self._memory = folder / "memory"
        self._command = command
        self._profiler = profiler

    def run(self, *, quiet_output: bool) -> int:
        """Run it to its end; return its exit status. Ctrl-C goes to the command as well."""
        before = self._before()
        # Those of the command; what the profiler says is not for the user.
        errors = os.dup(2)
        output = os.dup(2 if quiet_output else 1)
        launched = ["-m", _LAUNCH, str(self._status), str(output), str(errors)]
        command = [*before, sys.executable, *launched, *self._wrapped()]
        begin = time.perf_counter()
        try:
            process = subprocess.Popen(  # noqa: S603 -- the user's own command
                command,
                env={**os.environ, VARIABLE: str(self.stats)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(output, errors),
            )
        finally:
            os.close(output)
            os.close(errors)
        try:
            code = process.wait()
        except KeyboardInterrupt:  # the command has got it as well: show what it did so far
            code = self._end(process)
        self.seconds = time.perf_counter() - begin
        return self._read_status(code)

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
        self.notes.append("stopped by Ctrl-C: this is what was done until then")
        return _INTERRUPTED

    def functions(self) -> list[HotFunction]:
        """Return the functions that the profiler saw at the top."""
        if self._profiler == "memray" and self._memory.exists():
            stats = self._memory.with_suffix(".json")
            subprocess.run(  # noqa: S603 -- memray
                [sys.executable, "-m", "memray", "stats", "--json", "-f", "-o", str(stats),
                 str(self._memory)],
                check=False, capture_output=True,
            )  # fmt: skip
            return allocations(stats)
        return hot_functions(self._stacks)

    def _before(self) -> list[str]:
        if self._profiler != "py-spy":
            return []
        tool = find_py_spy()
        if tool.program is None:
            self.notes.append(tool.why_not)
            return []
        return [tool.program, *py_spy_options(self._stacks)]

    def _wrapped(self) -> list[str]:
        """Return the command, under memray if that is asked for and can be."""
        if self._profiler != "memray":
            return self._command
        tool = find_memray()
        target = python_target(self._command)
        if tool.program is None or target is None:
            self.notes.append(tool.why_not or "memray needs a command of this Python: not used")
            return self._command
        return [tool.program, "-m", "memray", "run", "--native", "--quiet", "-f", "-o",
                str(self._memory), *target]  # fmt: skip

    def _read_status(self, code: int) -> int:
        with suppress(FileNotFoundError, ValueError):  # if the profiler ended first
            code = int(self._status.read_text(encoding="ascii"))
        return code if code >= 0 else _SIGNALLED - code


def python_target(command: Sequence[str]) -> list[str] | None:
    """Return a command without its interpreter; None if that is not the one that runs us.

    ["python", "a.py", "x"] -> ["a.py", "x"]; ["tokenmill", "pack"] -> ["-m", "tokenmill", "pack"]
    """
    found = shutil.which(command[0])
    if found is None or Path(found).absolute().parent != Path(sys.executable).absolute().parent:
        return None
    name = Path(found).name
    if name == "tokenmill":
        return ["-m", "tokenmill", *command[1:]]
    return list(command[1:]) if name.startswith("python") and len(command) > 1 else None
