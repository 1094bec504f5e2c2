"""Which process this is, among all on all machines, and whether another one still runs."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from tokenmill._platform.processes import pid_space, process_start

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
