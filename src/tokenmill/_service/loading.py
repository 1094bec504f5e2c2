"""Models are loaded on threads of their own, so that neither requests nor health checks wait."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokenmill._service.models import ModelState, Prepare


class Loader:
    """One thread for each model that is not ready: a slow source does not delay the others."""

    def __init__(
        self,
        states: Iterable[ModelState],
        loaded: Callable[[], None],
        prepare: Prepare | None = None,
    ) -> None:
        self._on_loaded = loaded
        self._prepare = prepare
        self._loop = asyncio.get_running_loop()
        self._done = self._loop.create_future()
        self._waiting = [state for state in states if state.state != "ready"]
        self._left = len(self._waiting)  # counted on the event loop
        self._threads = [
            threading.Thread(target=self._load, args=(state,), name="tokenmill-load", daemon=True)
            for state in self._waiting
        ]
        if not self._threads:
            self._done.set_result(None)
        for state, thread in zip(self._waiting, self._threads, strict=True):
            state.state = "loading"
            thread.start()

    def _load(self, state: ModelState) -> None:
        state.load(self._prepare)
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._loaded)

    def _loaded(self) -> None:
        self._on_loaded()
        self._left -= 1
        if not self._left and not self._done.done():
            self._done.set_result(None)

    async def wait(self, timeout: float | None = None) -> None:
        """Return when each model is loaded or has failed, or after `timeout` seconds."""
        await asyncio.wait([self._done], timeout=timeout)

    async def close(self, patience: float) -> None:
        """Wait so long for the threads; one that still waits for a network ends by itself."""
        await self.wait(patience)
        if self._done.done():
            for thread in self._threads:
                thread.join()
