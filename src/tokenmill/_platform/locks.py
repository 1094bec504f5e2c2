"""Locks on open files, between processes: a lock is gone when the file is closed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import IO, Any


def lock(file: IO[Any] | int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock a file for this process alone, or for all that share it; a later call changes which.

    BlockingIOError if it is not to wait and somebody else has it; another OSError where the file
    system has no locks. Other processes can read and write the file all the same.
    """
    number = file if isinstance(file, int) else file.fileno()
    if sys.platform == "win32":
        from tokenmill._platform import windows

        windows.lock(number, shared=shared, wait=wait)
    else:
        import fcntl

        way = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
        fcntl.flock(number, way)
