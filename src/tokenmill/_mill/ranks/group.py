"""The tasks of a group, claimed one by one: drives the protocol with files and a clock."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._mill.ranks.claims import Claims

_POLL_SECONDS = 1.0
_RARELY = 20  # how many times longer than the least pause a poll may be


class Ear:
    """What one rank hears of the others, through all groups of tasks."""

    def __init__(self, claims: Claims, lease: float) -> None:
        self._claims = claims
        self._heard_at: float | None = None
        self.leases = Leases(lease)

    @property
    def is_due(self) -> bool:
        """Whether it is time to listen between two tasks."""
        pause = listen_after(self.leases.length)
        return self._heard_at is None or time.monotonic() - self._heard_at > pause

    def listen(self, claimer: Claimer) -> Claimer:
        """Pass the heartbeats on to the protocol."""
        # From the end of one listing to the start of the next: not longer than it really was.
        began = time.monotonic()
        seconds = 0.0 if self._heard_at is None else began - self._heard_at
        if self._heard_at is not None and seconds < beat_after(self.leases.length):
            return claimer.heard_nothing_new()
        beats = self._claims.beats()
        self._heard_at = time.monotonic()
        heard = claimer.heard(beats, seconds)
        self.leases = heard.leases
        return heard


class TaskGroup:
    """What one rank, with all its threads, claims and finishes of a group."""

    def __init__(
        self, claims: Claims, name: str, claimer: Claimer, ear: Ear, check: Callable[[], None]
    ) -> None:
        self._claims = claims
        self._name = name
        self._claimer = claimer
        self._ear = ear
        self._check = check  # raises if the run has ended elsewhere
        self._lock = threading.Lock()
        self._waits = 0
        self.is_over = False

    @property
    def done(self) -> int:
        """How many tasks were done, by all ranks, at the last look."""
        picture = self._claimer.picture
        return 0 if picture is None else picture.done

    def take(self) -> int | None:
        """Claim a task; None if there is nothing to claim now. Many threads may call it."""
        self._check()
        with self._lock:
            if self._ear.is_due:
                self._claimer = self._ear.listen(self._claimer)
            while True:
                action = self._claimer.wants()
                if isinstance(action, Claim):
                    won = self._claims.claim(
                        self._name, action.task, action.generation, self._claimer.owner
                    )
                    self._claimer = self._claimer.claimed(action, won=won)
                    if won:
                        self._waits = 0
                        return action.task
                elif isinstance(action, Wait | Over):
                    self.is_over = isinstance(action, Over)
                    return None
                else:
                    self._claimer = self._find_out(action)

    def finish(self, task: int) -> None:
        """Mark a task as done."""
        self._claims.mark_done(self._name, task)
        with self._lock:
            self._claimer = self._claimer.finished(task)

    def is_done(self, task: int) -> bool:
        """Return whether any rank has marked a task as done."""
        return self._claims.is_done(self._name, task)

    def wait(self, is_over: Callable[[], bool] | None = None) -> None:
        """Wait for others, longer each time, and look again.

        Asking `is_over`, whether the group is known to be over by what came after it, costs less
        than looking, so it is asked more often.
        """
        least = self._claims.least_pause
        pause = pause_after(self._waits, self._claimer.count, self._claimer.leases.length)
        pause = max(pause, least)
        self._waits += 1
        longest = max(_POLL_SECONDS, _RARELY * least)
        end, poll = time.monotonic() + pause, max(min(pause / 4, longest), least)
        while (left := end - time.monotonic()) > 0:
            self._check()
            if is_over is not None and is_over():
                self.is_over = True
                return
            time.sleep(min(left, poll))
        with self._lock:
            self._claimer = self._claimer.waited()

    def _find_out(self, action: LookAround | Ask | Listen) -> Claimer:
        if isinstance(action, LookAround):
            return self._claimer.looked(self._claims.look(self._name, self._claimer.count))
        if isinstance(action, Ask):
            owner = self._claims.owner(self._name, action.task, action.generation)
            return self._claimer.asked(action, owner)
        return self._ear.listen(self._claimer)
