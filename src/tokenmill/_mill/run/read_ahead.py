"""Files requested before their turn, so that workers do not wait for a slow disk or a store."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tokenmill._platform.files import CAN_READ_AHEAD, will_read
from tokenmill._read import request_start

if TYPE_CHECKING:
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._read import InputFile

_BYTES = 1 << 30  # of one file: the system would not keep more
_STREAMS = 2  # whose first bytes are requested from stores


class ReadAhead:
    """Requests the next files of a plan from the system. The reader reports errors."""

    def __init__(self, plan: Plan, files: int) -> None:
        self._files = plan.files
        self._last_of = [stream.segments[-1].file for stream in plan.streams]
        self._ahead = files if CAN_READ_AHEAD else 0
        self._streams = plan.streams
        self._lock = threading.Lock()
        self._next = 0
        self._next_stream = 0

    def note(self, stream: int) -> None:
        """Request what follows a stream that is opened, from the disk or from a store."""
        last = self._last_of[stream]
        with self._lock:
            begin = max(self._next, last + 1)
            self._next = max(self._next, min(last + 1 + self._ahead, len(self._files)))
            wanted = self._files[begin : self._next]
            soon = slice(max(self._next_stream, stream + 1), stream + 1 + _STREAMS)
            self._next_stream = max(self._next_stream, soon.stop)
        for file in wanted:
            _advise(file)
        for each in self._streams[soon]:
            request_start(each, self._files)


def _advise(file: InputFile) -> None:
    if file.data is None:
        will_read(file.path, min(max(file.size, 0), _BYTES))
