"""Files that are asked for before their turn, so that a slow disk does not keep workers waiting."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._read import InputFile

_BYTES = 1 << 30  # of one file: more than that is not kept by the system anyway


class ReadAhead:
    """Asks the system for the next files of a plan. It only advises: errors are the reader's."""

    def __init__(self, plan: Plan, files: int) -> None:
        self._files = plan.files
        self._last_of = [stream.segments[-1].file for stream in plan.streams]
        self._ahead = files if hasattr(os, "posix_fadvise") else 0
        self._lock = threading.Lock()
        self._next = 0

    def note(self, stream: int) -> None:
        """Ask for the files behind those of a stream that is opened, each once."""
        last = self._last_of[stream]
        with self._lock:
            begin = max(self._next, last + 1)
            self._next = max(self._next, min(last + 1 + self._ahead, len(self._files)))
            wanted = self._files[begin : self._next]
        for file in wanted:
            _advise(file)


def _advise(file: InputFile) -> None:
    if file.data is not None:
        return
    try:
        handle = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:  # gone, or no file of this machine: whoever reads it will say so
        return
    try:
        os.posix_fadvise(handle, 0, min(max(file.size, 0), _BYTES), os.POSIX_FADV_WILLNEED)
    finally:
        os.close(handle)
