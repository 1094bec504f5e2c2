"""What ranks share: a place for claims, with one promise, that a name is created once.

Everything else follows from it. A claim of a task is the name `(task, generation)`. The first claim
has generation 0; taking over from a dead rank is creating the next generation, so only one of
several observers can do it. Nothing is ever changed or removed while ranks work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ENDED = -1  # instead of the sequence number of a rank that has ended by itself
UNKNOWN = ""  # instead of an owner: the claim was created, and its owner is not written yet


@dataclass(frozen=True)
class Picture:
    """The tasks of a group, as one listing showed them."""

    claimed: bytes  # 1 for every task that has a claim
    open: tuple[tuple[int, int], ...] = ()  # task and generation of those claimed and not done
    done: int = 0


class Claims(Protocol):
    """A place that all ranks of a run see: a folder, or conditional puts to a store."""

    least_pause: float  # seconds between two looks, at least, by what they cost

    def look(self, group: str, count: int) -> Picture:
        """List the tasks of a group, which has `count` of them."""

    def claim(self, group: str, task: int, generation: int, owner: str) -> bool:
        """Create a claim; return whether it is new, which it is for exactly one caller."""

    def owner(self, group: str, task: int, generation: int) -> str:
        """Return who created a claim."""

    def mark_done(self, group: str, task: int) -> None:
        """Mark a task as done, after everything it made is in its place; may be repeated."""

    def is_done(self, group: str, task: int) -> bool:
        """Return whether a task is marked."""

    def beat(self, owner: str, sequence: int, state: Mapping[str, Any]) -> None:
        """Show that a rank lives, by a sequence number that grows, and what it does."""

    def beats(self) -> dict[str, int]:
        """List the last sequence number of every rank."""

    def forget(self, owner: str) -> None:
        """Remove the heartbeat of a rank: the run is finished, and claims are being removed."""


# What names say, in a folder as in a store. One listing shows all tasks, or all ranks.

DONE_NAME = "done"
ENDED_NAME = "ended"


def claim_name(group: str, task: int, what: str) -> str:
    """Name a claim by its generation, or the mark of a task that is done."""
    return f"{group}/{task:08d}.{what}"


def picture_of(names: Iterable[str], count: int) -> Picture:
    """Read the names in a group of `count` tasks."""
    claimed, latest, done = bytearray(count), dict[int, int](), set[int]()
    for name in names:
        task, _, what = name.partition(".")
        number = int(task)
        if what == DONE_NAME:
            done.add(number)
        else:
            latest[number] = max(int(what), latest.get(number, 0))
        claimed[number] = 1
    still = tuple(sorted((t, g) for t, g in latest.items() if t not in done))
    return Picture(bytes(claimed), still, len(done))


def beats_of(names: Iterable[str]) -> dict[str, int]:
    """Read the names of heartbeats."""
    found: dict[str, int] = {}
    for name in names:
        owner, _, last = name.rpartition(".")
        if last == ENDED_NAME or found.get(owner) == ENDED:
            found[owner] = ENDED
        else:
            found[owner] = max(int(last), found.get(owner, 0))
    return found
