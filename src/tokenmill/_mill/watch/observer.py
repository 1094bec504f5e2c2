"""Who looks at a run: its newest heartbeat, and whether the run is still there.

A process on the same machine can be asked for. Elsewhere only silence tells, and clocks of machines
differ: so what counts is how long *this* process has seen no new heartbeat. The time in the file
counts only until the first new one is seen, and only after waiting for it in vain.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._mill.output.open_work import view_work
from tokenmill._mill.output.work import HEARTBEAT
from tokenmill._numbers import duration
from tokenmill._platform.processes import pid_space, process_start

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

QUIET_SECONDS = 10.0  # without a heartbeat, before that is worth a word
_LISTEN_BEATS = 2.5  # how long to wait for the first new heartbeat

RUNNING, LISTENING, QUIET, DIED = "running", "listening", "quiet", "died"
ENDED = ("finished", "failed", "stopped", DIED)


@dataclass
class Observer:
    """Follows the heartbeat of one output."""

    output: str | os.PathLike[str]
    now: Callable[[], float] = time.monotonic
    clock: Callable[[], float] = time.time
    _last: tuple[Any, ...] = ()
    _seen_at: float = 0.0
    _has_moved: bool = False
    _space: str | None = field(default_factory=pid_space)

    def look(self) -> dict[str, Any] | None:
        """Return the newest heartbeat, with `state` and `heard_seconds_ago`; None without one."""
        beat = read_heartbeat(self.output)
        if beat is None:
            return None
        ago = self._silence(beat)
        state = self._state(beat, ago)
        return {**beat, "state": state, "heard_seconds_ago": round(max(0.0, ago), 1)}

    def listen(self, sleep: Callable[[float], None] = time.sleep) -> dict[str, Any] | None:
        """Look until it is known whether the run is there.

        That takes one beat if it is, three seconds if it is long gone, and ten at most.
        """
        while (run := self.look()) is not None and run["state"] == LISTENING:
            sleep(0.25)
        return run

    def _silence(self, beat: dict[str, Any]) -> float:
        """Return how long the run has said nothing."""
        key = (beat["host"], beat["pid"], beat["process_start"], beat["beat"])
        now = self.now()
        if key != self._last:
            self._has_moved = bool(self._last)
            self._last, self._seen_at = key, now
        seen: float = now - self._seen_at
        return seen if self._has_moved else max(seen, self.clock() - beat["written_at"])

    def _state(self, beat: dict[str, Any], ago: float) -> str:
        if beat["state"] != RUNNING:
            return str(beat["state"])
        # In a store, heartbeats are rare.
        quiet = max(QUIET_SECONDS, _LISTEN_BEATS * beat["every_seconds"])
        if self._space is not None and beat["pid_space"] == self._space:
            alive = process_start(beat["pid"]) == beat["process_start"]
            return (RUNNING if ago <= quiet else QUIET) if alive else DIED
        if self._has_moved:
            return RUNNING if ago <= quiet else QUIET
        # Only clocks tell so far. If they say that it is silent, a short wait confirms it.
        is_old = ago > quiet
        enough = _LISTEN_BEATS * beat["every_seconds"] if is_old else quiet
        return QUIET if self.now() - self._seen_at >= enough else LISTENING


def read_heartbeat(output: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read the newest heartbeat of a run; None if there is none that can be read."""
    try:
        found: dict[str, Any] | None = view_work(output).read_record(HEARTBEAT)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "beat" in found else None


def in_words(run: dict[str, Any]) -> str:
    """Say where a run is and how it is."""
    state, resumes = run["state"], "run the same command again to resume"
    ago, still = duration(run["heard_seconds_ago"], is_rough=True), run["still_seconds"]
    where = f"on {run['host']}, process {run['pid']}"
    if state == RUNNING and still > QUIET_SECONDS:
        return f"running {where}, but nothing has moved for {duration(still, is_rough=True)}"
    words = {
        QUIET: f"last heard from {ago} ago; the run may have died: {resumes}",
        DIED: f"process {run['pid']} is gone, and the run did not end by itself: {resumes}",
        "failed": f"failed: {run['error']}; when that is fixed, {resumes}",
        "stopped": f"stopped; {resumes}",
        LISTENING: "waiting for a heartbeat",
    }
    return words.get(state, f"{state} {where}")
