"""Which process this is, among all on all machines, and whether another one still runs."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def process_facts() -> dict[str, Any]:
    """Return what tells this process from all others, on all machines."""
    pid = os.getpid()
    return {
        "pid": pid,
        "host": socket.gethostname(),
        "pid_space": pid_space(),
        "process_start": process_start(pid),
    }


def is_gone(facts: Mapping[str, Any]) -> bool:
    """Return whether the process with these facts was on this machine and has ended."""
    return is_here(facts) and process_start(facts["pid"]) != facts["process_start"]


def is_here(facts: Mapping[str, Any]) -> bool:
    """Return whether the process with these facts is, or was, on this machine."""
    space = pid_space()
    return space is not None and bool(facts.get("pid_space") == space)


def pid_space() -> str | None:
    """Return what names the machine since its start, and its container; None if unknown.

    Two processes with the same one see each other's process ids.
    """
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return None


def process_start(pid: int) -> int | None:
    """Return when a process started, in ticks since the machine did; None if there is none."""
    with suppress(OSError, ValueError, IndexError):
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        fields = stat[stat.rindex(b")") + 2 :].split()  # its name may hold anything
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    return None
