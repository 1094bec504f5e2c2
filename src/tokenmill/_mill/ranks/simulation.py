"""A run of many ranks on a virtual clock: the real claim protocol, and no work.

It answers what no machine here can show: how long a thousand ranks take, how often they ask the
file system, and how much work is done twice if some die, stop for a while, or are slow.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from tokenmill._mill.ranks.place import LEASE_SECONDS
from tokenmill._mill.ranks.protocol import (
    Ask,
    Claim,
    Claimer,
    Leases,
    Listen,
    LookAround,
    Over,
    Wait,
    beat_after,
    listen_after,
    pause_after,
)
from tokenmill._mill.ranks.simulated_claims import SimulatedClaims

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_Step: TypeAlias = "Callable[[_SimulatedRank], None]"
_POLL_SECONDS = 1.0
_POLL_REQUESTS = 3  # is there a manifest, an error, the next group
_TAKE_REQUESTS = 3  # the first two of them before each task, and the first part of its stream
_BEAT_GRAIN = 0.1  # of a pause: heartbeats are not computed more often
_BEAT_REQUESTS = 3  # write, rename, remove the one before


@dataclass(frozen=True)
class TaskCosts:
    """A group of tasks: the seconds of each at usual speed, and how many commits each has."""

    seconds: Sequence[float]
    commits: Sequence[int] | None = None  # None: one each

    def part(self, task: int) -> float:
        """Return the seconds between two commits of a task: what a death can cost."""
        return self.seconds[task] / (1 if self.commits is None else self.commits[task])


@dataclass(frozen=True)
class Faults:
    """What goes wrong, by rank and time."""

    deaths: Sequence[tuple[int, float, float | None]] = ()  # rank, when, seconds until a restart
    pauses: Sequence[tuple[int, float, float]] = ()  # rank, when, for how long
    speeds: Mapping[int, float] = field(default_factory=dict)  # 1 is usual
    starts: Mapping[int, float] = field(default_factory=dict)  # 0 is usual


@dataclass(frozen=True)
class SimulatedRun:
    """How a simulated run went. Work is in seconds of a rank of usual speed."""

    seconds: float
    ends: Mapping[str, float]  # of each group
    work: float  # what had to be done
    worked: float  # what was done; the rest of it was lost or done twice
    busy: Sequence[float]  # of each rank, by the clock
    requests: Mapping[str, int]
    listed_names: int
    takeovers: int

    @property
    def efficiency(self) -> float:
        """The share of the ranks' time that was work which had to be done."""
        return self.work / max(self.seconds * len(self.busy), 1e-9)


class _SimulatedRank:
    """One process; a rank that is started again is another one."""

    def __init__(self, number: int, owner: str, born: float, speed: float) -> None:
        self.number, self.owner, self.born, self.speed = number, owner, born, speed
        self.group = 0
        self.claimer: Claimer
        self.waits = 0
        self.heard_at: float | None = None
        self.epoch = 0  # events of an earlier one do not count
        self.next_at = born
        self.then: _Step
        self.task: int | None = None
        self.began = 0.0
        self.paused_at: float | None = None
        self.paused = 0.0

    def beats(self, now: float, pause: float) -> int:
        """Return its sequence number, which does not change while the process is stopped."""
        until = now if self.paused_at is None else self.paused_at
        return int((until - self.born - self.paused) / pause)


class Simulation:
    """Runs groups of tasks, one after another, by many ranks."""

    def __init__(
        self,
        groups: Mapping[str, TaskCosts],
        ranks: int,
        faults: Faults | None = None,
        *,
        lease: float = LEASE_SECONDS,
        latency: float = 0.005,
    ) -> None:
        self._groups = {name: chunk for name, chunk in groups.items() if len(chunk.seconds)}
        self._names = list(self._groups)
        self._count, self._lease, self._latency = ranks, lease, latency
        self._faults = faults or Faults()
        self._claims = SimulatedClaims({n: len(c.seconds) for n, c in self._groups.items()})
        self._committed: dict[tuple[int, int], int] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._alive: dict[int, _SimulatedRank] = {}
        self._waiting: set[_SimulatedRank] = set()
        self._busy = [0.0] * ranks
        self._worked = 0.0
        self._takeovers = 0
        self._ends: dict[str, float] = {}
        self._now = 0.0
        self._beaten_at = -1.0

    def run(self) -> SimulatedRun:
        """Run to the end: until all groups are done."""
        for number in range(self._count):
            self._start(number, self._faults.starts.get(number, 0.0))
        for number, when, again in self._faults.deaths:
            self._push(when, partial(self._die, number, again))
        for number, when, seconds in self._faults.pauses:
            self._push(when, partial(self._pause, number, seconds))
        while len(self._ends) < len(self._names):
            self._now, _, event = heapq.heappop(self._events)
            event()
        return self._result()

    def _result(self) -> SimulatedRun:
        for rank in self._alive.values():
            self._count_life(rank)
        work = sum(sum(chunk.seconds) for chunk in self._groups.values())
        claims = self._claims
        return SimulatedRun(
            self._now, self._ends, work, self._worked, self._busy, dict(claims.requests),
            claims.listed_names, self._takeovers,
        )  # fmt: skip

    def _count_life(self, rank: _SimulatedRank) -> None:
        beats = rank.beats(self._now, beat_after(self._lease))
        self._claims.requests["heartbeat"] += _BEAT_REQUESTS * max(beats + 1, 0)

    def _start(self, number: int, when: float) -> None:
        speed = self._faults.speeds.get(number, 1.0)
        rank = _SimulatedRank(number, f"{number}.{next(self._order)}", when, speed)
        self._alive[number] = rank
        self._enter(rank)
        self._schedule(rank, when, self._act)

    def _enter(self, rank: _SimulatedRank) -> None:
        size = len(self._groups[self._names[rank.group]].seconds)
        place = (rank.number, self._count)
        leases = Leases(self._lease) if rank.heard_at is None else rank.claimer.leases
        rank.claimer = Claimer.for_rank(rank.owner, size, place, leases)
        rank.waits = 0

    def _push(self, when: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (when, next(self._order), event))

    def _schedule(self, rank: _SimulatedRank, when: float, then: _Step) -> None:
        """Let a rank do something later, instead of what was scheduled before."""
        rank.epoch += 1
        rank.next_at, rank.then = when, then
        self._push(when, partial(self._continue, rank, rank.epoch))

    def _continue(self, rank: _SimulatedRank, epoch: int) -> None:
        if rank.epoch == epoch:
            self._waiting.discard(rank)
            rank.then(rank)

    def _act(self, rank: _SimulatedRank) -> None:
        if rank.heard_at is None or self._now - rank.heard_at > listen_after(self._lease):
            rank.claimer = self._listen(rank)
        name, action = self._names[rank.group], rank.claimer.wants()
        if isinstance(action, Over):
            rank.group += 1
            if rank.group < len(self._names):
                self._enter(rank)
                self._act(rank)
            return
        if isinstance(action, Wait):
            self._wait(rank)
            return
        if isinstance(action, Claim):
            won = self._claims.claim(name, action.task, action.generation, rank.owner)
            rank.claimer = rank.claimer.claimed(action, won=won)
            if won:
                self._takeovers += action.generation > 0
                self._begin_task(rank, action.task)
                return
        else:
            rank.claimer = self._find_out(rank, name, action)
        self._schedule(rank, self._now + self._latency, self._act)

    def _wait(self, rank: _SimulatedRank) -> None:
        pause = pause_after(rank.waits, rank.claimer.count, self._lease)
        rank.waits += 1
        self._waiting.add(rank)
        polls = round(pause / min(pause / 4, _POLL_SECONDS))
        self._claims.requests["poll"] += polls * _POLL_REQUESTS
        self._schedule(rank, self._now + pause, self._wake)

    def _wake(self, rank: _SimulatedRank) -> None:
        rank.claimer = rank.claimer.waited()
        self._act(rank)

    def _find_out(
        self, rank: _SimulatedRank, name: str, action: LookAround | Ask | Listen
    ) -> Claimer:
        if isinstance(action, LookAround):
            return rank.claimer.looked(self._claims.look(name, rank.claimer.count))
        if isinstance(action, Ask):
            owner = self._claims.owner(name, action.task, action.generation)
            return rank.claimer.asked(action, owner)
        return self._listen(rank)

    def _listen(self, rank: _SimulatedRank) -> Claimer:
        pause = beat_after(self._lease)
        seconds = 0.0 if rank.heard_at is None else self._now - rank.heard_at
        if rank.heard_at is not None and seconds < pause:
            return rank.claimer.heard_nothing_new()
        if self._now - self._beaten_at > _BEAT_GRAIN * pause:
            self._beaten_at = self._now
            for other in self._alive.values():
                self._claims.beat(other.owner, other.beats(self._now, pause), {})
        rank.heard_at = self._now
        return rank.claimer.heard(self._claims.beats(), seconds)

    def _begin_task(self, rank: _SimulatedRank, task: int) -> None:
        rank.waits = 0
        rank.task, rank.began = task, self._now + _TAKE_REQUESTS * self._latency
        self._claims.requests["look before a task"] += _TAKE_REQUESTS
        self._schedule(rank, rank.began + self._left(rank, task) / rank.speed, self._end_task)

    def _left(self, rank: _SimulatedRank, task: int) -> float:
        chunk = self._groups[self._names[rank.group]]
        committed = self._committed.get((rank.group, task), 0)
        return max(chunk.seconds[task] - committed * chunk.part(task), 0.0)

    def _end_task(self, rank: _SimulatedRank) -> None:
        assert rank.task is not None  # noqa: S101
        task, name = rank.task, self._names[rank.group]
        self._count_work(rank)
        rank.task = None
        self._claims.mark_done(name, task)
        rank.claimer = rank.claimer.finished(task)
        if self._claims.is_over(name) and name not in self._ends:
            self._end_group(rank.group)
        self._act(rank)

    def _end_group(self, group: int) -> None:
        """Wake those who poll for the end of the group: of earlier ones, or of a single task."""
        name = self._names[group]
        self._ends[name] = self._now
        is_single = len(self._groups[name].seconds) == 1
        for other in sorted(self._waiting, key=lambda rank: rank.number):
            if other.group < group + is_single:
                wait = min(_POLL_SECONDS, max(other.next_at - self._now, 0.0)) / 2
                self._schedule(other, self._now + wait, self._wake)

    def _count_work(self, rank: _SimulatedRank) -> float:
        """Count the work of the current task so far; return it."""
        seconds = max(self._now - rank.began, 0.0)
        self._busy[rank.number] += seconds
        self._worked += seconds * rank.speed
        return seconds * rank.speed

    def _at_work(self, number: int) -> _SimulatedRank | None:
        rank = self._alive.get(number)
        if rank is None or rank.born > self._now or rank.group >= len(self._names):
            return None
        return rank

    def _die(self, number: int, again: float | None) -> None:
        rank = self._at_work(number)
        if rank is None:
            return
        rank.epoch += 1
        self._waiting.discard(rank)
        self._count_life(rank)
        if rank.task is not None:
            self._commit_parts(rank, self._count_work(rank))
        del self._alive[number]
        if again is not None:
            self._start(number, self._now + again)

    def _commit_parts(self, rank: _SimulatedRank, work: float) -> None:
        assert rank.task is not None  # noqa: S101
        key = (rank.group, rank.task)
        part = self._groups[self._names[rank.group]].part(rank.task)
        before = self._committed.get(key, 0)
        self._committed[key] = before + int(work / part) if part else before

    def _pause(self, number: int, seconds: float) -> None:
        """Stop a rank with everything it is doing; it continues later, and knows nothing of it."""
        rank = self._at_work(number)
        if rank is None or rank.paused_at is not None:
            return
        rank.paused_at = self._now
        rank.began += seconds
        left = max(rank.next_at - self._now, 0.0)
        self._waiting.discard(rank)
        rank.epoch += 1
        self._push(self._now + seconds, partial(self._resume, rank, rank.epoch, left))

    def _resume(self, rank: _SimulatedRank, epoch: int, left: float) -> None:
        if rank.epoch == epoch and rank.paused_at is not None:  # it has not died
            rank.paused += self._now - rank.paused_at
            rank.paused_at = None
            self._schedule(rank, self._now + left, rank.then)
