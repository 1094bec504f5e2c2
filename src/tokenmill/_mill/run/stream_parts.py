"""The parts of one stream, committed by several threads in any order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._mill.output.parts import PartRecord


class StreamParts:
    """Tells when a stream is whole: its last part may be committed before earlier ones."""

    def __init__(self, done: Iterable[PartRecord]) -> None:
        self._lock = threading.Lock()
        self._parts = {record.part: record for record in done}

    def add(self, record: PartRecord) -> bool:
        """Add a part; return whether the stream is whole with it."""
        with self._lock:
            self._parts[record.part] = record
            last = max(self._parts)
            return self._parts[last].last and len(self._parts) == last + 1

    def in_order(self) -> list[PartRecord]:
        """Return the parts that are here."""
        with self._lock:
            return [self._parts[part] for part in sorted(self._parts)]
