"""Tasks that nobody works on, and which of them a node gets next."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_OUTSIZED = 2  # times the mean


@dataclass(frozen=True)
class ClusterTask:
    """A call of a worker. `home` is the node that has read or written most of its data."""

    method: str
    arguments: tuple[Any, ...]
    home: str = ""


class Handout:
    """Gives each node its own tasks first, then those of nobody, then those of others."""

    def __init__(self) -> None:
        self._by_home: dict[str, deque[ClusterTask]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_home.values()))

    def add(self, tasks: Iterable[ClusterTask]) -> None:
        """Add tasks after those that wait."""
        for task in tasks:
            self._by_home.setdefault(task.home, deque()).append(task)

    def put_back(self, task: ClusterTask) -> None:
        """Add a task that was begun and lost: it is the next one."""
        self._by_home.setdefault(task.home, deque()).appendleft(task)

    def take(self, node: str) -> ClusterTask | None:
        """Return the next task of a node: of others, where most is left, the last of them."""
        for home in (node, ""):
            if self._by_home.get(home):
                return self._by_home[home].popleft()
        most = max(self._by_home.values(), key=len, default=None)
        return most.pop() if most else None

    def clear(self) -> list[ClusterTask]:
        """Forget all tasks; return them."""
        left = [task for tasks in self._by_home.values() for task in tasks]
        self._by_home.clear()
        return left


def by_size(numbers: Sequence[int], sizes: Sequence[float]) -> list[int]:
    """Return outsized streams first, the largest before all, then the others in their order.

    A large one at the end would keep one node busy while all others wait. The order of the plan is
    kept otherwise: what is read in that order is written and checked on the way.
    """
    limit = _OUTSIZED * sum(sizes[n] for n in numbers) / max(len(numbers), 1)
    large = sorted((n for n in numbers if sizes[n] > limit), key=lambda n: -sizes[n])
    return large + [n for n in numbers if sizes[n] <= limit]
