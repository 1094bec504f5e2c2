"""Counts of the last seconds: two states of the counters -> rates, shares and percentiles."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tokenmill._service.counters import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_NO_BUCKETS = [0] * (len(BUCKETS) + 1)


class Window:
    """The states of the last `seconds`, as `Counters.as_dict` returns them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._states: deque[tuple[float, dict[str, Any]]] = deque()

    def add(self, now: float, state: dict[str, Any]) -> Change:
        """Add a state; return what has changed since the oldest one that is kept."""
        self._states.append((now, state))
        while len(self._states) > 1 and self._states[1][0] <= now - self._seconds:
            self._states.popleft()
        begin, oldest = self._states[0]
        return Change(now - begin, oldest, state)


class Change:
    """The difference of two states, over all models and operations."""

    def __init__(self, seconds: float, old: dict[str, Any], new: dict[str, Any]) -> None:
        self.seconds = seconds
        self._old, self._new = old, new

    @property
    def requests(self) -> int:
        """Requests that ended, however."""
        return sum(_statuses(self._new)) - sum(_statuses(self._old))

    @property
    def rejected(self) -> int:
        """Requests that were refused."""
        new, old = (sum(state["rejected"].values()) for state in (self._new, self._old))
        return int(new - old)

    @property
    def tokens(self) -> int:
        """Tokens of all answers."""
        return _sum_of(self._new, "tokens") - _sum_of(self._old, "tokens")

    def rate(self, count: float) -> float:
        """Return a count as so many a second."""
        return count / self.seconds if self.seconds > 0 else 0.0

    def quantile(self, time: str, share: float) -> float | None:
        """Return a percentile of "request", "queue" or "work" seconds; None without requests."""
        new, old = (_buckets(state, f"{time}_seconds") for state in (self._new, self._old))
        return quantile([a - b for a, b in zip(new, old, strict=True)], share)

    def lag(self, share: float) -> float | None:
        """Return a percentile of how late the event loop was."""
        return self._quantile("loop_lag", share)

    def line(self, share: float) -> float | None:
        """Return a percentile of waiting for the event loop; None if no request did."""
        return self._quantile("line", share)

    def _quantile(self, name: str, share: float) -> float | None:
        new, old = (state[name]["buckets"] for state in (self._new, self._old))
        return quantile([a - b for a, b in zip(new, old, strict=True)], share)


def quantile(buckets: Sequence[int], share: float) -> float | None:
    """Return a percentile of a histogram, a straight line inside each bucket, as Prometheus does.

    What is slower than the last bound counts as that bound.
    """
    total = sum(buckets)
    if total <= 0:
        return None
    rank, below = share * total, 0
    for place, count in enumerate(buckets[:-1]):
        if count and below + count >= rank:
            low = BUCKETS[place - 1] if place else 0.0
            return low + (BUCKETS[place] - low) * (rank - below) / count
        below += count
    return BUCKETS[-1]


def _operations(state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for operations in state["models"].values():
        yield from operations.values()


def _statuses(state: dict[str, Any]) -> Iterable[int]:
    return (sum(found["status"].values()) for found in _operations(state))


def _sum_of(state: dict[str, Any], name: str) -> int:
    return sum(found[name] for found in _operations(state))


def _buckets(state: dict[str, Any], name: str) -> list[int]:
    rows = [found[name]["buckets"] for found in _operations(state)]
    return [sum(column) for column in zip(*rows, strict=True)] if rows else _NO_BUCKETS
