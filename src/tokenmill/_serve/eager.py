"""Coroutines that start at once: a request that never waits needs no task."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Generator

T = TypeVar("T")


class Waiting(NamedTuple):
    """What is left of a coroutine that has begun to wait: a task can await it."""

    rest: Awaitable[Any]


def start(coroutine: Coroutine[Any, Any, T]) -> T | Waiting:
    """Run a coroutine up to where it waits: its result if it never does.

    Making a task and going once around the event loop takes 10 us, as long as encoding 5 KB.
    Nothing that runs here may ask for the current task before it waits.
    """
    try:
        first = coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    return Waiting(_rest(coroutine, first))


@types.coroutine
def _rest(coroutine: Coroutine[Any, Any, T], waited: object) -> Generator[Any, Any, T]:
    while True:
        try:
            yield waited
        except BaseException as error:
            step, value = coroutine.throw, error
        else:
            step, value = coroutine.send, None  # type: ignore[assignment]
        try:
            waited = step(value)
        except StopIteration as done:
            result: T = done.value
            return result
