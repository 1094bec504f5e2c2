"""Files requested before their turn, so that workers do not wait for a slow disk."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._read import InputFile

_BYTES = 1 << 30  # of one file: the system would not keep more


class ReadAhead:
    """Requests the next files of a plan from the system. The reader reports errors."""

    def __init__(self, plan: Plan, files: int) -> None:
        self._files = plan.files
        self._last_of = [stream.segments[-1].file for stream in plan.streams]
        self._ahead = files if hasattr(os, "posix_fadvise") else 0
        self._lock = threading.Lock()
        self._next = 0

    def note(self, stream: int) -> None:
        """Request the files after those of a stream that is opened, each once."""
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
    except OSError:  # gone, or remote: the reader reports it
        return
    try:
        os.posix_fadvise(handle, 0, min(max(file.size, 0), _BYTES), os.POSIX_FADV_WILLNEED)
    finally:
        os.close(handle)
