"""Every way in which a few ranks can run: all interleavings of their steps, deaths and silences.

The claim protocol is the real one; what it does to files is a model of them. A state is everything
that ranks know and files hold. A task is read, written and marked as done in three steps, so a rank
can stop between them and write late, after others have taken over or finished.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenmill._mill.ranks.claims import Picture
from tokenmill._mill.ranks.protocol import (
    Ask,
    Claim,
    Claimer,
    Leases,
    Listen,
    LookAround,
    Over,
    Wait,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEASE = 1.0
Content = tuple[Any, ...]


class Stage(NamedTuple):
    """A task at work: claimed, then with what it has read, then written."""

    task: int
    content: Content | None = None
    is_written: bool = False


@dataclass(frozen=True)
class ModelRank:
    """One process; its group of tasks is `group`, and `claimer` is None when all are over."""

    claimer: Claimer | None
    group: int = 0
    stage: Stage | None = None
    is_alive: bool = True
    sent: Claim | None = None  # in a store: a claim that was put, before its answer is known
    page: tuple[Any, ...] | None = None  # in a store: the first half of a listing


@dataclass(frozen=True)
class Files:
    """What is in the shared folder. Commits have their content; a second one replaces it."""

    claims: frozenset[tuple[int, int, int, str]] = frozenset()  # group, task, generation, owner
    done: frozenset[tuple[int, int]] = frozenset()
    commits: frozenset[tuple[int, int, Content]] = frozenset()


@dataclass(frozen=True)
class World:
    """A state; `deaths` and `silences` are how many more of them there may be."""

    ranks: tuple[ModelRank, ...]
    files: Files
    deaths: int
    silences: int


class Model:
    """Groups of tasks, one after another, as in a run: streams, gathering, shards, finishing."""

    def __init__(self, groups: tuple[int, ...], ranks: int) -> None:
        self.groups = groups
        self._ranks = ranks

    def start(self, deaths: int, silences: int) -> World:
        ranks = tuple(ModelRank(self._claimer(rank, 0)) for rank in range(self._ranks))
        return World(ranks, Files(), deaths, silences)

    def _claimer(self, rank: int, group: int) -> Claimer | None:
        if group == len(self.groups):
            return None
        place = (rank, self._ranks)
        return Claimer.for_rank(f"r{rank}", self.groups[group], place, Leases(LEASE))

    def right_content(self, group: int, task: int) -> Content:
        """Return what one machine alone would write."""
        before = range(self.groups[group - 1]) if group else ()
        return (group, task, tuple(self.right_content(group - 1, t) for t in before))

    def is_over(self, world: World) -> bool:
        last = len(self.groups) - 1
        return all((last, task) in world.files.done for task in range(self.groups[last]))

    def next_worlds(self, world: World) -> Iterator[World]:
        for number, rank in enumerate(world.ranks):
            if not rank.is_alive or rank.claimer is None:
                continue
            if rank.stage is not None:
                # A rank that dies without a claim is like one that never moves again.
                if world.deaths:
                    dead = _with(world, number, ModelRank(None, is_alive=False))
                    yield replace(dead, deaths=world.deaths - 1)
                yield self._work(world, number, rank, rank.stage)
            else:
                yield from self._act(world, number, rank, rank.claimer)

    def _work(self, world: World, number: int, rank: ModelRank, stage: Stage) -> World:
        files, key = world.files, (rank.group, stage.task)
        if stage.content is None:
            earlier = sorted(c for g, _, c in files.commits if g == rank.group - 1)
            found = Stage(stage.task, (*key, tuple(earlier)))
            return _with(world, number, replace(rank, stage=found))
        if not stage.is_written:
            kept = {c for c in files.commits if c[:2] != key}
            files = replace(files, commits=frozenset({*kept, (*key, stage.content)}))
            written = replace(rank, stage=stage._replace(is_written=True))
            return _with(replace(world, files=files), number, written)
        assert rank.claimer is not None
        files = replace(files, done=files.done | {key})
        free = replace(rank, stage=None, claimer=rank.claimer.finished(stage.task))
        return _with(replace(world, files=files), number, free)

    def _act(self, world: World, number: int, rank: ModelRank, claimer: Claimer) -> Iterator[World]:
        action = claimer.wants()
        if isinstance(action, Listen):
            yield from self._listen(world, number, rank, claimer)
        elif isinstance(action, Claim):
            yield self._claim(world, number, rank, action)
        elif isinstance(action, Over):
            group = rank.group + 1
            yield _with(world, number, ModelRank(self._claimer(number, group), group))
        else:
            yield _with(world, number, replace(rank, claimer=_found(world, rank, action)))

    def _claim(self, world: World, number: int, rank: ModelRank, claim: Claim) -> World:
        assert rank.claimer is not None
        files, key = world.files, (rank.group, claim.task, claim.generation)
        won = not any(c[:3] == key for c in files.claims)
        if won:
            claims = files.claims | {(*key, rank.claimer.owner)}
            world = replace(world, files=replace(files, claims=claims))
        after = rank.claimer.claimed(claim, won=won)
        content = None if rank.group else self.right_content(0, claim.task)  # of inputs alone
        stage = Stage(claim.task, content) if won else None
        return _with(world, number, replace(rank, claimer=after, stage=stage))

    def _listen(
        self, world: World, number: int, rank: ModelRank, claimer: Claimer
    ) -> Iterator[World]:
        """Hear every rank that lives, or not: some may have been silent since the last time."""
        watched = {owner for _, owner in claimer.owners}
        alive = [f"r{n}" for n, r in enumerate(world.ranks) if r.is_alive and f"r{n}" in watched]
        for count in range(min(len(alive), world.silences) + 1):
            for silent in combinations(alive, count):
                beats = {f"r{n}": 0 for n in range(len(world.ranks))}
                beats |= {owner: 1 for owner in alive if owner not in silent}
                heard = claimer.heard(beats, LEASE)
                # Only changes count, so every number that was heard can be called 0.
                seen = tuple((owner, 0, age) for owner, _, age in heard.leases.seen)
                heard = replace(heard, leases=replace(heard.leases, seen=seen))
                after = _with(world, number, replace(rank, claimer=heard))
                yield replace(after, silences=world.silences - count)


class StoreModel(Model):
    """The same with a store, where two things are not one step.

    A claim is put, and its answer may be lost: then it is put again, refused, and read to see whose
    it is. A listing comes in pages: what is created meanwhile may be in a later page and not in an
    earlier one. Both are steps of their own here, between which everything may happen.
    """

    def next_worlds(self, world: World) -> Iterator[World]:
        yield from super().next_worlds(world)
        for number, rank in enumerate(world.ranks):
            if world.deaths and rank.is_alive and rank.sent is not None:
                dead = _with(world, number, ModelRank(None, is_alive=False))
                yield replace(dead, deaths=world.deaths - 1)

    def _act(self, world: World, number: int, rank: ModelRank, claimer: Claimer) -> Iterator[World]:
        if rank.sent is not None:
            yield self._answer(world, number, rank, rank.sent)
        elif isinstance(claimer.wants(), LookAround):
            yield self._list(world, number, rank, claimer)
        else:
            yield from super()._act(world, number, rank, claimer)

    def _claim(self, world: World, number: int, rank: ModelRank, claim: Claim) -> World:
        assert rank.claimer is not None
        files, key = world.files, (rank.group, claim.task, claim.generation)
        if not any(c[:3] == key for c in files.claims):
            claims = files.claims | {(*key, rank.claimer.owner)}
            world = replace(world, files=replace(files, claims=claims))
        return _with(world, number, replace(rank, sent=claim))

    def _answer(self, world: World, number: int, rank: ModelRank, claim: Claim) -> World:
        assert rank.claimer is not None
        key = (rank.group, claim.task, claim.generation)
        won = (*key, rank.claimer.owner) in world.files.claims
        after = rank.claimer.claimed(claim, won=won)
        content = None if rank.group else self.right_content(0, claim.task)
        stage = Stage(claim.task, content) if won else None
        return _with(world, number, replace(rank, claimer=after, stage=stage, sent=None))

    def _list(self, world: World, number: int, rank: ModelRank, claimer: Claimer) -> World:
        """Read one half of the names, and then the other."""
        half = (claimer.count + 1) // 2
        files, group = world.files, rank.group
        tasks = range(half) if rank.page is None else range(half, claimer.count)
        claims = [c[1:3] for c in files.claims if c[0] == group and c[1] in tasks]
        done = [task for g, task in files.done if g == group and task in tasks]
        if rank.page is None:
            page = (tuple(sorted(claims)), tuple(sorted(done)))
            return _with(world, number, replace(rank, page=page))
        picture = _picture(claimer.count, (*rank.page[0], *claims), {*rank.page[1], *done})
        return _with(world, number, replace(rank, page=None, claimer=claimer.looked(picture)))


def _with(world: World, number: int, rank: ModelRank) -> World:
    ranks = (*world.ranks[:number], rank, *world.ranks[number + 1 :])
    return replace(world, ranks=ranks)


def _found(world: World, rank: ModelRank, action: LookAround | Ask | Wait) -> Claimer:
    claimer, files, group = rank.claimer, world.files, rank.group
    assert claimer is not None
    if isinstance(action, Wait):
        return claimer.waited()
    mine = [claim for claim in files.claims if claim[0] == group]
    if isinstance(action, Ask):
        owner = next(c[3] for c in mine if c[1:3] == (action.task, action.generation))
        return claimer.asked(action, owner)
    done = {task for g, task in files.done if g == group}
    return claimer.looked(_picture(claimer.count, [claim[1:3] for claim in mine], done))


def _picture(count: int, claims: Iterable[tuple[int, int]], done: set[int]) -> Picture:
    latest: dict[int, int] = {}
    for task, generation in claims:
        latest[task] = max(generation, latest.get(task, 0))
    claimed = bytes(task in latest for task in range(count))
    still = tuple(sorted((t, g) for t, g in latest.items() if t not in done))
    return Picture(claimed, still, len(done))


@dataclass
class Explored:
    """All states that can be reached, and which follow which."""

    worlds: list[World]
    followers: list[list[int]]

    def numbered(self) -> Iterator[tuple[World, int]]:
        yield from zip(self.worlds, range(len(self.worlds)), strict=True)


class _Numbers:
    """A number for each value. Most are asked for again as the same object, so hashing is rare."""

    def __init__(self) -> None:
        self._by_value: dict[Any, int] = {}
        self._by_object: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no other object has its address

    def of(self, value: Any) -> int:
        number = self._by_object.get(id(value))
        if number is None:
            number = self._by_value.setdefault(value, len(self._by_value))
            self._by_object[id(value)] = number
            self._kept.append(value)
        return number


def explore(model: Model, start: World, most: int) -> Explored:
    """Visit every state once; fail if there are more than `most`."""
    numbers = _Numbers()
    known: dict[tuple[int, ...], int] = {}
    found = Explored([], [])

    def number_of(world: World) -> int:
        key = (*map(numbers.of, (*world.ranks, world.files)), world.deaths, world.silences)
        number = known.setdefault(key, len(known))
        if number == len(found.worlds):
            found.worlds.append(world)
            found.followers.append([])
        return number

    number_of(start)
    for number, world in enumerate(found.worlds):  # grows on the way
        assert len(found.worlds) <= most
        found.followers[number] = [number_of(after) for after in model.next_worlds(world)]
    return found


def can_reach(explored: Explored, goals: set[int]) -> set[int]:
    """Return the states from which some goal can be reached."""
    before: list[list[int]] = [[] for _ in explored.followers]
    for number, followers in enumerate(explored.followers):
        for after in followers:
            before[after].append(number)
    found, waiting = set(goals), deque(goals)
    while waiting:
        for number in before[waiting.popleft()]:
            if number not in found:
                found.add(number)
                waiting.append(number)
    return found
