"""Processes: which one this is, whether another one lives, its time and its limits, forks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def after_fork(change: Callable[[], object]) -> None:
    """Call this in every child that a fork makes of this process."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=change)


def pid_space() -> str | None:
    """Return what names the machine since its start, and its container; None if unknown.

    Two processes with the same one see each other's process ids. Only Linux says it.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def process_start(pid: int) -> int | None:
    """Return when a process started, in ticks since the machine did; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
        fields = stat[stat.rindex(b")") + 2 :].split()  # its name may hold anything
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def children_cpu_seconds() -> float | None:
    """Return the CPU time of all children that have ended; None where nobody adds it up."""
    if sys.platform == "win32":
        return None
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def thread_nice(more: int) -> None:
    """Let threads of others go before this one and those that it starts. Only Linux can."""
    if sys.platform == "linux":
        import threading

        thread = threading.get_native_id()
        now = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, now + more)


def raise_file_limit(most: int) -> int:
    """Let this process open so many files; return how many it can. Windows has no such limit.

    Shells start programs with a soft limit of 1,024 files; a program may raise it up to the hard
    limit, which is the administrator's.
    """
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    def files(limit: int) -> int:
        return sys.maxsize if limit == resource.RLIM_INFINITY else limit

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(most, files(hard))
    if wanted > files(soft):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(wanted, files(soft))
