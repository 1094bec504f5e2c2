"""Ranges that are requested before they are read."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tokenmill import StoreError
from tokenmill._store import IN_FLIGHT, Address, Ahead, ByteRange, ahead, cut

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = Address("s3", "bucket", "key")
SIZE = 100


class FakeStore:
    """Answers with the numbers of the bytes, when it may; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.fails = False
        self.stopped = 0

    def get(
        self, address: Address, begin: int, end: int, *, tag: str, stop: threading.Event | None
    ) -> memoryview:
        assert (address, tag) == (KEY, "tag")
        self.asked.append(begin)
        assert self.may_answer.wait(60)
        self.stopped += stop is not None and stop.is_set()
        if self.fails:
            raise StoreError("down", url=str(address))
        return memoryview(bytes(i % 256 for i in range(begin, end)))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeStore]:
    fake = FakeStore()
    monkeypatch.setattr(ahead, "get", fake.get)
    monkeypatch.setattr(ahead, "RANGE_BYTES", SIZE)
    yield fake
    fake.may_answer.set()


def ranges(count: int) -> list[ByteRange]:
    return cut(KEY, "tag", 0, count * SIZE)


def test_a_span_is_cut_at_the_same_places_from_everywhere(fake: FakeStore) -> None:
    assert [(r.begin, r.end) for r in cut(KEY, "tag", 50, 250)] == [
        (50, 100),
        (100, 200),
        (200, 250),
    ]
    assert cut(KEY, "tag", 100, 200) == cut(KEY, "tag", 50, 250)[1:2]
    assert cut(KEY, "tag", 70, 70) == []
    assert fake.asked == []


def test_a_promised_range_is_requested_once(fake: FakeStore) -> None:
    one = Ahead()
    first, second = ranges(2)
    one.guess(first)
    one.promise(first)
    one.guess(first)
    assert one.take(first) == bytes(range(100))
    assert one.take(second) == bytes(range(100, 200))
    assert sorted(fake.asked) == [0, 100]
    assert one.held_bytes == 0


def test_guesses_are_bounded_and_promises_are_kept(fake: FakeStore) -> None:
    one = Ahead()
    many = ranges(100)
    for each in many[:50]:
        one.promise(each)
    for each in many[50:]:
        one.guess(each)
    most = 2 * IN_FLIGHT * SIZE
    assert one.held_bytes == 50 * SIZE + most
    one.add_reader()
    one.guess(ByteRange(KEY, "tag", 10_000, 10_100))
    assert one.held_bytes == 50 * SIZE + most + SIZE
    assert [bytes(one.take(each)) for each in many[:50]] == [
        bytes(i % 256 for i in range(each.begin, each.end)) for each in many[:50]
    ]
    assert fake.asked.count(0) == 1


def test_a_failure_is_for_those_who_wait_and_not_for_later_ones(fake: FakeStore) -> None:
    one = Ahead()
    (first,) = ranges(1)
    fake.fails = True
    fake.may_answer.clear()
    one.guess(first)
    fake.may_answer.set()
    with pytest.raises(StoreError):
        one.take(first)
    one.guess(first)
    while not one._promised[first].future.done():
        pass
    fake.fails = False
    assert one.take(first) == bytes(range(100))


def test_withdrawn_ranges_are_not_tried_again(fake: FakeStore) -> None:
    one = Ahead()
    fake.may_answer.clear()
    for each in ranges(3):
        one.promise(each)
    one.withdraw(ranges(3))
    assert one.held_bytes == 0
    fake.may_answer.set()
    one._threads.shutdown()
    assert fake.stopped == len(fake.asked)


def test_what_the_garbage_collector_finds_is_withdrawn_later(fake: FakeStore) -> None:
    one = Ahead()
    first, second = ranges(2)
    one.add_reader()
    one.promise(first)
    with one._lock:  # as when the collector runs inside of a call
        one.abandon([first])
    one.promise(second)
    assert one.held_bytes == SIZE
    assert one._readers == 0
    assert one.take(second) == bytes(range(100, 200))
