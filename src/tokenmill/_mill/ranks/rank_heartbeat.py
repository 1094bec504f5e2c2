"""The heartbeat of a rank: a thread that shows, again and again, that the process lives."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from tokenmill._mill.ranks.claims import ENDED
from tokenmill._mill.ranks.protocol import beat_after

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from tokenmill._mill.ranks.claims import Claims
    from tokenmill._mill.ranks.place import RankPlace


class RankHeartbeat:
    """Beats until the block ends. A beat that cannot be written is left out."""

    def __init__(
        self,
        claims: Claims,
        place: RankPlace,
        state: Callable[[], dict[str, Any]],
        is_finished: Callable[[], bool],
    ) -> None:
        self._claims = claims
        self._owner = place.owner
        self._pause = beat_after(place.lease)
        self._state = state
        self._is_finished = is_finished  # then the claims are being removed
        self._sequence = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        # Before the first claim, so that nobody finds an owner without a heartbeat.
        self._claims.beat(self._owner, self._sequence, self._state())
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        state = self._state() | {"state": "done" if error is None else "stopped"}
        if isinstance(error, Exception):  # and not Ctrl-C
            state |= {"state": "failed", "error": str(error) or type(error).__name__}
        self._beat(ENDED, state)
        if self._is_finished():
            with contextlib.suppress(OSError):
                self._claims.forget(self._owner)

    def _run(self) -> None:
        while not self._over.wait(self._pause):
            self._sequence += 1
            self._beat(self._sequence, self._state())

    def _beat(self, sequence: int, state: dict[str, Any]) -> None:
        if not self._is_finished():
            with contextlib.suppress(OSError):
                self._claims.beat(self._owner, sequence, state)
