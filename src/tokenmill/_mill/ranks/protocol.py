"""The claim protocol as a state machine: it decides, and its driver does the I/O.

A `Claimer` is what one rank knows about a group of tasks. `wants` is its next action; after doing
it, the driver passes the answer to the method of the same name and gets the next state. There is no
clock in it: a lease is over when a heartbeat has not changed for that long *of the observer's
time*, so clocks of two machines are never compared.

A rank starts in its own part of the tasks and walks forward. When those are claimed, it takes the
tasks of others from their ends, where they will come last. When all are claimed, it watches the
ranks that hold the open ones, and takes over from those that have gone silent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tokenmill._mill.ranks.claims import ENDED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokenmill._mill.ranks.claims import Picture

_WATCHED = 64  # open claims that one waiting rank looks after; others start at other places
_ABSENT = -2  # the sequence number of a rank without a heartbeat
_LOST_CLAIMS = 16  # costs about as much as listing thousands of tasks
_FIRST_PAUSE = 0.05  # seconds, and for each task in a listing:
_PAUSE_PER_TASK = 20e-6


@dataclass(frozen=True)
class LookAround:
    """List the tasks of the group."""


@dataclass(frozen=True)
class Claim:
    """Create a claim; the rank that succeeds does the task."""

    task: int
    generation: int


@dataclass(frozen=True)
class Ask:
    """Read who owns a claim."""

    task: int
    generation: int


@dataclass(frozen=True)
class Listen:
    """List the heartbeats, and measure the time since the last listing of them."""


@dataclass(frozen=True)
class Wait:
    """There is nothing to claim now: wait, or do something else."""


@dataclass(frozen=True)
class Over:
    """All tasks of the group are done."""


Action = LookAround | Claim | Ask | Listen | Wait | Over


def pause_after(waits: int, tasks: int, lease: float) -> float:
    """Return how long to wait before the next look: longer each time, up to a quarter lease."""
    first = _FIRST_PAUSE + tasks * _PAUSE_PER_TASK
    return float(min(first * 2 ** min(waits, 20), lease / 4))


def beat_after(lease: float) -> float:
    """Return the seconds between two heartbeats; listening more often tells nothing new."""
    return lease / 12


def listen_after(lease: float) -> float:
    """Return how often to listen between tasks, in seconds."""
    return lease / 4


@dataclass(frozen=True)
class Leases:
    """For how long the heartbeat of each watched rank has been the same."""

    length: float
    seen: tuple[tuple[str, int, float], ...] = ()  # owner, sequence number, seconds

    def hear(self, owners: Iterable[str], beats: Mapping[str, int], seconds: float) -> Leases:
        """Compare with the heartbeats of `seconds` ago; some of the owners may have none."""
        before = {owner: (sequence, age) for owner, sequence, age in self.seen}
        seen = []
        for owner in sorted({*beats, *owners}):
            sequence = beats.get(owner, _ABSENT)
            known, age = before.get(owner, (None, 0.0))
            age = min(age + seconds, self.length) if sequence == known else 0.0
            seen.append((owner, sequence, age))
        return Leases(self.length, tuple(seen))

    def over(self) -> set[str]:
        """Return the ranks that have ended, or have been silent for the length of a lease."""
        return {
            owner for owner, sequence, age in self.seen if sequence == ENDED or age >= self.length
        }


@dataclass(frozen=True)
class Claimer:
    """What one rank knows about a group of tasks; every method returns the next state."""

    owner: str
    count: int
    first: int  # where the rank's own tasks begin
    own: int  # how many they are; the others are tried backwards
    leases: Leases
    picture: Picture | None = None
    is_fresh: bool = False  # nothing has changed by this rank since the picture
    has_heard: bool = False
    cursor: int = 0  # tasks, in the rank's order, that are known to be claimed
    lost: int = 0  # claims in a row, since the last look, that others had made before
    mine: frozenset[int] = frozenset()
    owners: tuple[tuple[tuple[int, int], str], ...] = field(default=())

    @classmethod
    def for_rank(
        cls,
        owner: str,
        count: int,
        place: tuple[int, int],
        leases: Leases,
        *,
        in_order: bool = False,
    ) -> Claimer:
        """Return the state of a rank at its start; `place` is its rank and the number of ranks.

        `leases` are what it has heard while it worked on another group.
        """
        rank, ranks = place
        first = 0 if in_order else rank % ranks * count // ranks
        end = count if in_order else (rank % ranks + 1) * count // ranks
        return cls(owner, count, first, end - first, leases)

    def wants(self) -> Action:
        """Return the next action."""
        picture = self.picture
        if picture is None:
            return LookAround()
        if picture.done == self.count:
            return Over()
        place = self._unclaimed()
        if place is not None:
            return Claim(self._task_at(place), 0)
        return self._wants_of_others() if self.is_fresh else LookAround()

    def _wants_of_others(self) -> Action:
        """Find out who holds the open tasks, and take over from a rank that has gone silent."""
        known = dict(self.owners)
        for claim in self._watched():
            if claim not in known:
                return Ask(*claim)
        if not self.has_heard:
            return Listen()
        over = self.leases.over()
        for task, generation in self._watched():
            if known[task, generation] in over:
                return Claim(task, generation + 1)
        return Wait()

    def looked(self, picture: Picture) -> Claimer:
        """Take in a new listing."""
        return replace(self, picture=picture, is_fresh=True, lost=0)

    def claimed(self, claim: Claim, *, won: bool) -> Claimer:
        """Take in whether a claim was new. After some that were not, it is time for a new look."""
        place = self._unclaimed() if claim.generation == 0 else None
        cursor = self.cursor if place is None else place + 1
        if won:
            return replace(self, cursor=cursor, mine=self.mine | {claim.task}, lost=0)
        lost = self.lost + 1
        if place is None or lost == _LOST_CLAIMS:
            return replace(self, cursor=cursor, picture=None, lost=0)
        return replace(self, cursor=cursor, is_fresh=False, lost=lost)

    def asked(self, ask: Ask, owner: str) -> Claimer:
        """Take in the owner of a claim; one without a name is watched on its own."""
        claim = (ask.task, ask.generation)
        name = owner if owner != UNKNOWN else f"?{ask.task}.{ask.generation}"
        return replace(self, owners=(*self.owners, (claim, name)))

    def heard(self, beats: Mapping[str, int], seconds: float) -> Claimer:
        """Take in the heartbeats, `seconds` after those before.

        The driver may also listen between tasks, so that a rank that has died long ago is known to
        be dead when somebody waits for it.
        """
        owners = (owner for _, owner in self.owners)
        return replace(self, leases=self.leases.hear(owners, beats, seconds), has_heard=True)

    def heard_nothing_new(self) -> Claimer:
        """Keep to what was heard before: the last heartbeats are younger than their pause."""
        return replace(self, has_heard=True)

    def waited(self) -> Claimer:
        """Look again after a wait; forget the owners of claims that are no longer open."""
        still = set(self._watched())
        kept = tuple(o for o in self.owners if o[0] in still and not o[1].startswith("?"))
        return replace(self, picture=None, has_heard=False, owners=kept)

    def finished(self, task: int) -> Claimer:
        """Note that a task of this rank is marked as done."""
        return replace(self, mine=self.mine - {task}, is_fresh=False)

    def _task_at(self, place: int) -> int:
        """Return a task by its place in the order of this rank."""
        if place < self.own:
            return self.first + place
        return (self.first - 1 - (place - self.own)) % self.count

    def _unclaimed(self) -> int | None:
        """Return the place of the next task that nobody has claimed, as far as is known."""
        assert self.picture is not None  # noqa: S101 -- wants looks first
        claimed, first, own, place = self.picture.claimed, self.first, self.own, self.cursor
        if place < own:
            task = claimed.find(0, first + place, first + own)
            if task >= 0:
                return task - first
            place = own
        for base, low, high in ((own, 0, first), (own + first, first + own, self.count)):
            task = claimed.rfind(0, low, max(low, high - max(place - base, 0)))
            if task >= 0:
                return base + high - 1 - task
        return None

    def _watched(self) -> Iterator[tuple[int, int]]:
        """Yield open claims of others, from a place of this rank on, but not too many."""
        if self.picture is None:
            return
        others = [claim for claim in self.picture.open if claim[0] not in self.mine]
        begin = self.first * len(others) // max(self.count, 1)
        yield from (others[begin:] + others[:begin])[:_WATCHED]
