"""Uploads in the background: bounded, and the first error reaches those who ask."""

from __future__ import annotations

import threading

import pytest

from tokenmill._mill.output import uploads as module
from tokenmill._mill.output.uploads import Uploads


def test_no_more_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many shards are on the disk at once: the worker that makes the next one waits."""
    monkeypatch.setattr(module, "_WAITING", 3)
    uploads, gate, began = Uploads(), threading.Event(), threading.Event()
    done: list[int] = []

    def task(number: int) -> None:
        assert gate.wait(60)
        done.append(number)

    def add_fourth() -> None:
        began.set()
        uploads.add(lambda: task(3))
        fourth.set()

    fourth = threading.Event()
    for number in range(3):
        uploads.add(lambda number=number: task(number))  # type: ignore[misc]
    thread = threading.Thread(target=add_fourth)
    thread.start()
    assert began.wait(60)
    assert not fourth.wait(0.05)  # there is no room
    gate.set()
    assert fourth.wait(60)
    uploads.settle()
    thread.join()
    uploads.stop()
    assert sorted(done) == [0, 1, 2, 3]


def test_the_first_error_ends_all() -> None:
    uploads, gate, done = Uploads(), threading.Event(), []

    def fail() -> None:
        assert gate.wait(60)
        raise OSError("the store is gone")

    uploads.add(fail)
    gate.set()
    with pytest.raises(OSError, match="the store is gone"):
        uploads.settle()
    with pytest.raises(OSError, match="the store is gone"):
        uploads.add(lambda: done.append(1))
    uploads.stop()
    assert not done


def test_what_has_not_begun_is_left_out_at_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    uploads, gate, began, done = Uploads(), threading.Event(), threading.Event(), []

    def first() -> None:
        began.set()
        assert gate.wait(60)
        done.append(1)

    uploads.add(first)
    uploads.add(lambda: done.append(2))
    assert began.wait(60)
    stopping = threading.Thread(target=uploads.stop)
    stopping.start()
    while not uploads._is_stopped:
        gate.wait(0.001)
    gate.set()
    stopping.join()
    assert done == [1]
