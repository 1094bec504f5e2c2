"""How many requests this process made, by kind, and how many bytes came and went."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RequestCounts:
    """Requests by kind (head, list, get, put, part, delete), and how many of them were repeated."""

    requests: dict[str, int] = field(default_factory=dict)
    repeated: dict[str, int] = field(default_factory=dict)
    bytes_in: int = 0
    bytes_out: int = 0

    def since(self, earlier: RequestCounts) -> RequestCounts:
        """Return what was added after `earlier`."""
        return RequestCounts(
            _less(self.requests, earlier.requests),
            _less(self.repeated, earlier.repeated),
            self.bytes_in - earlier.bytes_in,
            self.bytes_out - earlier.bytes_out,
        )

    def as_json(self) -> dict[str, object]:
        """Return the counts as plain values."""
        return {
            "by_kind": dict(sorted(self.requests.items())),
            "repeated": sum(self.repeated.values()),
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
        }


def _less(now: dict[str, int], then: dict[str, int]) -> dict[str, int]:
    left = {kind: count - then.get(kind, 0) for kind, count in now.items()}
    return {kind: count for kind, count in left.items() if count}


_lock = threading.Lock()
_requests: dict[str, int] = {}
_repeated: dict[str, int] = {}
_moved = {"in": 0, "out": 0}


def request_counts() -> RequestCounts:
    """Return the counts of this process so far."""
    with _lock:
        return RequestCounts(dict(_requests), dict(_repeated), _moved["in"], _moved["out"])


def count_request(kind: str, *, repeated: bool = False, number: int = 1) -> None:
    """Note requests that are about to be made."""
    with _lock:
        _requests[kind] = _requests.get(kind, 0) + number
        if repeated:
            _repeated[kind] = _repeated.get(kind, 0) + number


def count_bytes(*, came: int = 0, went: int = 0) -> None:
    """Note the bytes of bodies that arrived or were sent."""
    with _lock:
        _moved["in"] += came
        _moved["out"] += went
