"""Who writes to an output in a store: one object, which only its owner replaces.

The object is the newest heartbeat of the run. Its owner replaces it by a conditional put, by the
tag of the version that it wrote before. So a run that was taken for dead, and is not, finds out.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tokenmill._errors import OutputInUse, StoreError
from tokenmill._mill.output.process_facts import is_gone, is_here, process_facts
from tokenmill._mill.output.work import HEARTBEAT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._mill.output.store_folder import StoreFolder
    from tokenmill._store import ObjectInfo

EVERY_SECONDS = 10.0
LEASE_SECONDS = 45.0  # without a new heartbeat, a run on another machine is taken for dead
_LOOK_SECONDS = 1.0
_RUNNING = "running"


class StoreLease:
    """The right of one process to write to an output."""

    def __init__(self, work: StoreFolder, where: str) -> None:
        self._work = work
        self._where = where
        self._held: ObjectInfo | None = None  # the version that this process has written
        self._written = b""  # the last heartbeat
        self._is_lost = False
        self._told_at = 0.0
        self._state = ""
        self._lock = threading.Lock()

    def take(self) -> None:
        """Become the owner; raise OutputInUse if another run lives."""
        beat = {**process_facts(), "state": _RUNNING, "written_at": round(time.time(), 3)}
        data = json.dumps(beat).encode()
        if self._work.create(HEARTBEAT, data):
            self._held = self._work.find(HEARTBEAT)
        else:
            before = self.refuse_a_living_run()
            self._held = None if before is None else self._work.replace(HEARTBEAT, data, before)
        if self._held is None:
            raise _in_use(self._where)
        self._written = data

    def refuse_a_living_run(self) -> ObjectInfo | None:
        """Return the last heartbeat, if its run is gone; raise OutputInUse otherwise.

        A run of this machine is asked for. Of others only silence tells.
        """
        found = self._work.read(HEARTBEAT)
        if found is None:
            return None
        data, info = found
        beat = _as_beat(data)
        if beat.get("state") == _RUNNING and not is_gone(beat):
            if is_here(beat):
                raise _in_use(self._where)
            refuse_if_it_moves(self._tag_now, info.tag, LEASE_SECONDS, self._where)
        return info

    def tell(self, beat: dict[str, Any]) -> None:
        """Show a heartbeat, but not too often; notice if another run is the owner now."""
        with self._lock:
            is_news = beat["state"] != self._state
            is_due = time.monotonic() - self._told_at >= EVERY_SECONDS
            if self._held is None or self._is_lost or not (is_news or is_due):
                return
            self._replace(json.dumps({**beat, "every_seconds": EVERY_SECONDS}).encode())
            self._told_at, self._state = time.monotonic(), beat["state"]

    def _replace(self, data: bytes) -> None:
        assert self._held is not None  # noqa: S101 -- callers have asked
        held = self._work.replace(HEARTBEAT, data, self._held)
        if held is None:  # the tag may have been wrong: what counts is who wrote the object
            found = self._work.read(HEARTBEAT)
            if found is not None and found[0] == self._written:
                held = self._work.replace(HEARTBEAT, data, found[1])
        self._is_lost = held is None
        self._held, self._written = held or self._held, data

    def check(self) -> None:
        """Raise OutputInUse if another run has taken over."""
        if self._is_lost:
            raise OutputInUse(
                "another run has taken over, because this one was silent for too long",
                where=self._where,
                hint="leave it to the other one, or stop that and run this command again",
            )

    def give_up(self) -> None:
        """Show nothing any more: the run has ended, and its object may be gone."""
        with self._lock:
            self._held = None

    def end(self, *, keep: bool) -> None:
        """Let the next run begin at once; `keep` what this one has said, or say that it ended."""
        with self._lock:
            if self._held is None or self._is_lost:
                return
            with suppress(StoreError):  # then the next run waits for the lease
                if not keep:
                    self._work.remove([HEARTBEAT])
                elif self._state in ("", _RUNNING):
                    beat = {**process_facts(), "state": "stopped", "written_at": time.time()}
                    self._replace(json.dumps(beat).encode())

    def _tag_now(self) -> str | None:
        info = self._work.find(HEARTBEAT)
        return None if info is None else info.tag


def refuse_if_it_moves(look: Callable[[], Any], before: Any, seconds: float, where: str) -> None:
    """Raise OutputInUse if what `look` returns changes within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(_LOOK_SECONDS, seconds / 4))
        if look() != before:
            raise _in_use(where)


def _in_use(where: str) -> OutputInUse:
    return OutputInUse(
        "another run is writing here", where=where, hint="wait for it, or choose another output"
    )


def _as_beat(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
