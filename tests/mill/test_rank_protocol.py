"""The claim protocol, in every interleaving: nothing is lost, nothing differs, and it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.rank_model import Model, StoreModel, World, can_reach, explore

from tokenmill._mill.ranks.claims import ENDED, Picture
from tokenmill._mill.ranks.protocol import (
    Ask,
    Claim,
    Claimer,
    Leases,
    Listen,
    LookAround,
    Over,
    Wait,
    pause_after,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(model: Model, start: World, most: int = 3_000_000) -> int:
    """Check every state that can be reached; return how many there are."""
    explored = explore(model, start, most)
    goals = set()
    for world, number in explored.numbered():
        files = world.files
        for group, task, content in files.commits:
            assert content == model.right_content(group, task)  # never another content
        committed = {commit[:2] for commit in files.commits}
        assert files.done <= committed  # what is marked as done is there
        names = [claim[:3] for claim in files.claims]
        assert len(set(names)) == len(names)  # one owner for each generation
        if model.is_over(world):
            everything = {(g, t) for g, count in enumerate(model.groups) for t in range(count)}
            assert committed == files.done == everything  # nothing is lost
            goals.add(number)
    ends = can_reach(explored, goals)
    for world, number in explored.numbered():
        if any(rank.is_alive for rank in world.ranks):
            assert number in ends, "ranks that live cannot come to the end"
    assert goals
    return len(explored.worlds)


QUICK = [((2, 1), 2, 1, 1), ((1, 1, 1), 2, 1, 1), ((1,), 3, 2, 0), ((1,), 3, 1, 1)]
LARGE = [((1, 1), 3, 1, 0), ((2, 1), 3, 1, 0), ((1, 1, 1), 3, 1, 0), ((1,), 3, 2, 2)]


@pytest.mark.parametrize(("groups", "ranks", "deaths", "silences"), QUICK)
def test_every_interleaving(
    groups: tuple[int, ...], ranks: int, deaths: int, silences: int
) -> None:
    model = Model(groups, ranks)
    assert check(model, model.start(deaths, silences)) > 1000


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "ranks", "deaths", "silences"), LARGE)
def test_every_interleaving_of_more(
    groups: tuple[int, ...], ranks: int, deaths: int, silences: int
) -> None:
    model = Model(groups, ranks)
    assert check(model, model.start(deaths, silences)) > 10_000


STORE_QUICK = [((2,), 2, 1, 1), ((1, 1), 2, 1, 1), ((3,), 2, 1, 0)]
STORE_LARGE = [((2, 1), 2, 1, 1), ((1, 1, 1), 2, 1, 1), ((1,), 3, 1, 1), ((2,), 3, 1, 0)]


@pytest.mark.parametrize(("groups", "ranks", "deaths", "silences"), STORE_QUICK)
def test_every_interleaving_in_a_store(
    groups: tuple[int, ...], ranks: int, deaths: int, silences: int
) -> None:
    model = StoreModel(groups, ranks)
    assert check(model, model.start(deaths, silences)) > 1000


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "ranks", "deaths", "silences"), STORE_LARGE)
def test_every_interleaving_of_more_in_a_store(
    groups: tuple[int, ...], ranks: int, deaths: int, silences: int
) -> None:
    model = StoreModel(groups, ranks)
    assert check(model, model.start(deaths, silences)) > 10_000


class HastyModel(Model):
    """Ranks that mark a task as done before it is."""

    def next_worlds(self, world: World) -> Iterator[World]:
        for after in super().next_worlds(world):
            files = replace(after.files, done=after.files.done | {(0, 0)})
            yield replace(after, files=files)


def test_the_check_finds_a_task_that_is_marked_and_was_never_written() -> None:
    model = HastyModel((1, 1), 2)
    with pytest.raises(AssertionError):
        check(model, model.start(0, 0))


def claimer(count: int, rank: int = 0, ranks: int = 1, **how: Any) -> Claimer:
    return Claimer.for_rank("me", count, (rank, ranks), Leases(10.0), **how)


def order_of(state: Claimer) -> list[int]:
    """Claim everything, and return the order."""
    state = state.looked(Picture(bytes(state.count)))
    found = []
    while isinstance(action := state.wants(), Claim):
        found.append(action.task)
        state = state.claimed(action, won=True)
    return found


@pytest.mark.parametrize(("count", "ranks"), [(10, 3), (3, 7), (1, 1), (8, 2), (5, 5)])
def test_a_rank_begins_with_its_own_tasks_and_comes_to_all(count: int, ranks: int) -> None:
    firsts = []
    for rank in range(ranks):
        order = order_of(claimer(count, rank, ranks))
        assert sorted(order) == list(range(count))
        firsts += order[: (rank + 1) * count // ranks - rank * count // ranks]
    assert sorted(firsts) == list(range(count))  # together their own tasks are all tasks


def test_tasks_of_others_are_taken_from_their_end() -> None:
    assert order_of(claimer(9, 1, 3)) == [3, 4, 5, 2, 1, 0, 8, 7, 6]
    assert order_of(claimer(4, 3, 4, in_order=True)) == [0, 1, 2, 3]


def test_after_lost_claims_it_looks_again() -> None:
    state = claimer(100).looked(Picture(bytes(100)))
    tried = 0
    while isinstance(action := state.wants(), Claim):
        state = state.claimed(action, won=False)
        tried += 1
    assert action == LookAround()
    assert 1 < tried < 100


def held(owner: str) -> Claimer:
    """Return the state in which the only task is held by another."""
    state = claimer(1).looked(Picture(b"\1", ((0, 4),)))
    assert state.wants() == Ask(0, 4)
    state = state.asked(Ask(0, 4), owner)
    assert state.wants() == Listen()
    return state


def test_a_lease_is_over_when_a_heartbeat_has_not_changed() -> None:
    state = held("other").heard({"other": 7}, 0.0)
    assert state.wants() == Wait()
    again = state.waited().looked(Picture(b"\1", ((0, 4),)))
    assert again.heard({"other": 7}, 9.9).wants() == Wait()
    assert again.heard({"other": 8}, 10.1).wants() == Wait()  # it has moved
    assert again.heard({"other": 7}, 10.1).wants() == Claim(0, 5)
    assert again.heard({}, 10.1).wants() == Wait()  # gone, but only just now


def test_a_rank_that_has_ended_is_not_waited_for() -> None:
    assert held("other").heard({"other": ENDED}, 0.0).wants() == Claim(0, 5)


def test_a_claim_without_a_name_has_a_lease_too() -> None:
    """Its owner was killed between creating it and writing its name."""
    state = held("").heard({}, 0.0)
    for _ in range(2):
        assert state.wants() == Wait()
        state = state.waited().looked(Picture(b"\1", ((0, 4),)))
        assert state.wants() == Ask(0, 4)  # it may have written it
        state = state.asked(Ask(0, 4), "").heard({}, 6.0)
    assert state.wants() == Claim(0, 5)


def test_the_end() -> None:
    assert claimer(2).looked(Picture(b"\1\1", (), 2)).wants() == Over()
    assert claimer(0).looked(Picture(b"")).wants() == Over()


def test_pauses_grow_up_to_a_quarter_of_a_lease() -> None:
    pauses = [pause_after(waits, 1, 120.0) for waits in range(40)]
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.1
    assert pauses[-1] == 30.0
    assert pause_after(0, 100_000, 120.0) > 1  # listing so many takes long
