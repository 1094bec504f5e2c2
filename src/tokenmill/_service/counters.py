"""What a service counts: one row of 8-byte numbers for each process, in memory that they share.

A row is written by the event loop of one process only, so a count needs no lock; any process
adds the rows up. Memory that is mapped before a fork is the same memory after it.

A row, for `m` models::

    global: inflight queued | rejected[reason] | lag, line: sum and buckets | longest lag
    model 0: op 0: statuses | tokens | bytes | each of TIMES: sum and buckets | op 1: ...
    ...

Times are whole nanoseconds.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

OPERATIONS = ("encode", "encode_batch", "count", "decode", "chat", "run")
STATUSES = ("ok", "error", "timeout", "cancelled", "rejected")
REASONS = ("max_queue", "max_queue_bytes", "max_text_bytes", "memory", "not_ready", "closing")
TIMES = ("request", "queue", "work", "template")
# From 5 us: a fast engine's answers would all be in the first of the usual buckets.
BUCKETS = (
    5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
    1.0, 2.0, 5.0, 10.0,
)  # fmt: skip

_NANO = 1_000_000_000
_N_BUCKETS = len(BUCKETS) + 1  # the last one is for all that is slower
_TIME = 1 + _N_BUCKETS
_GAUGES = ("inflight", "queued")
_REJECTED = len(_GAUGES)
_LAG = _REJECTED + len(REASONS)
_LINE = _LAG + _TIME
_LAG_MAX = _LINE + _TIME
_GLOBAL = _LAG_MAX + 1
_TOKENS = len(STATUSES)
_BYTES = _TOKENS + 1
_FIRST_TIME = _BYTES + 1
_WORK_TIME = _FIRST_TIME + TIMES.index("work") * _TIME
_TEMPLATE_TIME = _FIRST_TIME + TIMES.index("template") * _TIME
_OPERATION = _FIRST_TIME + len(TIMES) * _TIME
_MODEL = _OPERATION * len(OPERATIONS)
_REASON_PLACES = {reason: _REJECTED + i for i, reason in enumerate(REASONS)}
_STATUS_PLACES = {status: i for i, status in enumerate(STATUSES)}


class Counters:
    """Counts of one process (`row`) of `rows`; make it before the fork, `claim` a row after it."""

    def __init__(self, models: int, rows: int = 1) -> None:
        self._models = models
        self._width = _GLOBAL + models * _MODEL
        self._memory = mmap.mmap(-1, rows * self._width * 8)  # shared with forked processes
        table: NDArray[np.int64] = np.frombuffer(self._memory, dtype=np.int64)
        self._table = table.reshape(rows, self._width)
        self.claim(0)

    def claim(self, row: int) -> None:
        """Count in this row from now on; what it holds stays, so that totals never fall."""
        self.row = row
        # A memoryview counts in a third of the time of a numpy row.
        self._cells = memoryview(self._table[row])
        self._cells[0] = self._cells[1] = 0  # of the process that had the row before

    # ---- writing: on the event loop, about a microsecond a request in all

    def place(self, model: int, operation: str) -> int:
        """Return where the counts of an operation of a model are in a row."""
        return _GLOBAL + model * _MODEL + OPERATIONS.index(operation) * _OPERATION

    def answered(self, place: int, size: int, tokens: int, seconds: float) -> None:
        """Count a request that was answered inline: no queue, and nothing but work."""
        cells = self._cells
        cells[place] += 1
        cells[place + _TOKENS] += tokens
        cells[place + _BYTES] += size
        nanos, bucket = int(seconds * _NANO), 1 + bisect_left(BUCKETS, seconds)
        for at in (place + _FIRST_TIME, place + _WORK_TIME):
            cells[at] += nanos
            cells[at + bucket] += 1

    def ended(self, place: int, status: str, size: int, times: tuple[float, float, float]) -> None:
        """Count a request that waited: its status, bytes, and request, queue and work seconds."""
        cells = self._cells
        cells[place + _STATUS_PLACES[status]] += 1
        cells[place + _BYTES] += size
        at = place + _FIRST_TIME
        for seconds in times:
            self._add_time(at, seconds)
            at += _TIME

    def tokens(self, place: int, count: int) -> None:
        """Count tokens of a request that waited."""
        self._cells[place + _TOKENS] += count

    def rendered(self, place: int, seconds: float | None) -> None:
        """Count what a chat template took, a part of the work; None if it never ran."""
        if seconds is not None:
            self._add_time(place + _TEMPLATE_TIME, seconds)

    def rejected(self, place: int, reason: str) -> None:
        """Count a request that was refused."""
        self._cells[place + _STATUS_PLACES["rejected"]] += 1
        self._cells[_REASON_PLACES[reason]] += 1

    def gauges(self, inflight: int, queued: int) -> None:
        """Write down what is there now."""
        self._cells[0] = inflight
        self._cells[1] = queued

    def lag(self, seconds: float) -> None:
        """Count one measurement of how late the event loop was."""
        self._add_time(_LAG, seconds)
        self._cells[_LAG_MAX] = max(self._cells[_LAG_MAX], int(seconds * _NANO))

    def waited(self, seconds: float) -> None:
        """Count a request that waited for the event loop before anybody looked at it."""
        self._add_time(_LINE, seconds)

    def _add_time(self, at: int, seconds: float) -> None:
        self._cells[at] += int(seconds * _NANO)
        self._cells[at + 1 + bisect_left(BUCKETS, seconds)] += 1

    # ---- reading: any process

    def row_of(self, row: int | None = None) -> NDArray[np.int64]:
        """Return a copy of one row, or the sum of all (the longest lag, not the sum of them)."""
        if row is not None:
            return np.array(self._table[row])
        total: NDArray[np.int64] = self._table.sum(axis=0)
        total[_LAG_MAX] = self._table[:, _LAG_MAX].max()
        return total

    def as_dict(self, names: Sequence[str], row: int | None = None) -> dict[str, Any]:
        """Return plain numbers: of one process, or of all; operations never asked for are absent.

        Buckets are counts, one for each bound of `BUCKETS` and one for all that is slower.
        """
        cells = self.row_of(row)
        lag = _time_of(cells, _LAG)
        models: dict[str, Any] = {}
        for i, name in enumerate(names):
            operations = {}
            for operation in OPERATIONS:
                at = self.place(i, operation)
                part = cells[at : at + _OPERATION]
                if part.any():
                    operations[operation] = _operation_of(part)
            models[name] = operations
        return {
            "inflight": int(cells[0]),
            "queued": int(cells[1]),
            "rejected": {name: int(cells[at]) for name, at in _REASON_PLACES.items()},
            "line": _time_of(cells, _LINE),
            "loop_lag": lag | {"max": int(cells[_LAG_MAX]) / _NANO},
            "models": models,
        }


def _operation_of(part: NDArray[np.int64]) -> dict[str, Any]:
    return {
        "status": {name: int(part[at]) for name, at in _STATUS_PLACES.items()},
        "tokens": int(part[_TOKENS]),
        "bytes": int(part[_BYTES]),
        **{
            f"{name}_seconds": _time_of(part, _FIRST_TIME + i * _TIME)
            for i, name in enumerate(TIMES)
        },
    }


def _time_of(cells: NDArray[np.int64], at: int) -> dict[str, Any]:
    buckets = cells[at + 1 : at + _TIME]
    return {
        "count": int(buckets.sum()),
        "sum": int(cells[at]) / _NANO,
        "buckets": buckets.tolist(),
    }
