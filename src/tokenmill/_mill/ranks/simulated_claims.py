"""Claims of a simulated run: no files, but every request is counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._mill.ranks.claims import Picture

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class _Tasks:
    """The tasks of a group, kept in the form in which they are listed."""

    claimed: bytearray
    owners: dict[tuple[int, int], str] = field(default_factory=dict)
    still: dict[int, int] = field(default_factory=dict)  # claimed and not done -> generation
    done: set[int] = field(default_factory=set)


class SimulatedClaims:
    """The claims of all ranks of a simulated run; `requests` counts them by kind."""

    least_pause = 0.0

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._groups = {name: _Tasks(bytearray(count)) for name, count in sizes.items()}
        self._beats: dict[str, int] = {}
        self.requests: Counter[str] = Counter()
        self.listed_names = 0

    def look(self, group: str, count: int) -> Picture:
        """List the tasks of a group."""
        tasks = self._groups[group]
        self.requests["list claims"] += 1
        self.listed_names += count - tasks.claimed.count(0) + len(tasks.done)
        return Picture(bytes(tasks.claimed), tuple(sorted(tasks.still.items())), len(tasks.done))

    def claim(self, group: str, task: int, generation: int, owner: str) -> bool:
        """Create a claim; return whether it is new."""
        tasks = self._groups[group]
        is_new = (task, generation) not in tasks.owners
        self.requests["claim" if is_new else "claim, too late"] += 1
        if is_new:
            tasks.owners[task, generation] = owner
            tasks.claimed[task] = 1
            if task not in tasks.done:
                tasks.still[task] = max(generation, tasks.still.get(task, 0))
        return is_new

    def owner(self, group: str, task: int, generation: int) -> str:
        """Return who created a claim."""
        self.requests["read owner"] += 1
        return self._groups[group].owners[task, generation]

    def mark_done(self, group: str, task: int) -> None:
        """Mark a task as done."""
        self.requests["mark done"] += 1
        tasks = self._groups[group]
        tasks.done.add(task)
        tasks.still.pop(task, None)

    def is_done(self, group: str, task: int) -> bool:
        """Return whether a task is marked."""
        return task in self._groups[group].done

    def is_over(self, group: str) -> bool:
        """Return whether all tasks of a group are done; nobody asks this but the simulation."""
        tasks = self._groups[group]
        return len(tasks.done) == len(tasks.claimed)

    def beat(self, owner: str, sequence: int, state: Mapping[str, Any]) -> None:
        """Show that a rank lives. The simulation counts heartbeats by the time that ranks lived."""
        del state
        self._beats[owner] = sequence

    def beats(self) -> dict[str, int]:
        """List the last sequence number of every rank."""
        self.requests["list heartbeats"] += 1
        return self._beats

    def forget(self, owner: str) -> None:
        """Remove the heartbeat of a rank."""
        self._beats.pop(owner, None)
