"""What the workers of one server share: counts, shares of the connections, and their parent."""

from __future__ import annotations

import os

from tokenmill._serve.accept import Shares
from tokenmill._service.counters import Counters
from tokenmill._service.gauges import Gauges


class Team:
    """Made before the workers are forked; each one claims its row after that."""

    def __init__(self, models: int, workers: int) -> None:
        self.counters = Counters(models, rows=workers)
        self.gauges = Gauges(workers)
        self._shares = Shares(workers)
        self.lifeline, self._end = os.pipe()  # the parent holds the other end while it lives

    def claim(self, row: int) -> None:
        """Be the worker of a row."""
        os.close(self._end)
        self.counters.claim(row)

    def note(self, connections: int) -> None:
        """Tell the others how many connections this worker has."""
        self._shares.note(self.counters.row, connections)

    def is_ahead(self) -> bool:
        """Whether another worker has fewer connections than this one."""
        return self._shares.is_ahead(self.counters.row)

    def surplus(self) -> int:
        """Return how many connections this worker has above its share."""
        return self._shares.surplus(self.counters.row)

    def leave(self, row: int) -> None:
        """Take the row of a worker that is gone out of the shares."""
        self._shares.leave(row)
        self.gauges.write(row, {"alive": 0.0, "ready": 0.0, "resident_bytes": 0.0})
