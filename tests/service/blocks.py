"""Jobs that run until a test lets them go, so that bounds are met exactly and without a clock."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill import Service
    from tokenmill._core import Stop

LONG = 1 << 20  # bytes: the long lane of every profile
PATIENCE = 30.0  # seconds until a test that hangs fails


class Block:
    """A call that waits on its thread until it is let go; it does not look at its Stop."""

    def __init__(self, answer: object = "done") -> None:
        self.answer = answer
        self.began = threading.Event()
        self.may_end = threading.Event()
        self.ended = threading.Event()

    def __call__(self, stop: Stop) -> object:
        self.began.set()
        assert self.may_end.wait(PATIENCE)
        self.ended.set()
        return self.answer

    def start(self, service: Service, size: int = LONG) -> asyncio.Task[object]:
        """Ask for it in a task."""
        return asyncio.create_task(service.run(self, size=size))


async def until(event: threading.Event) -> None:
    """Wait for an event of a thread without holding the event loop."""
    for _ in range(int(PATIENCE * 1000)):
        if event.is_set():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("the event did not come")


async def turns(count: int = 5) -> None:
    """Let the event loop go round: what was planned is done afterwards."""
    for _ in range(count):
        await asyncio.sleep(0)
