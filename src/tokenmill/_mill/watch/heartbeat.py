"""The heartbeat of a run: a thread that writes a small file every second, for all who look.

The file is in the work folder, and goes with it. What cannot be written is never an error of the
run: the next beat tries again.
"""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from tokenmill._errors import StoreError
from tokenmill._files import UNFINISHED
from tokenmill._mill.output.staged_work import StagedWork
from tokenmill._mill.output.work import HEARTBEAT
from tokenmill._mill.watch.beat import EVERY_SECONDS
from tokenmill._mill.watch.warn import say
from tokenmill._platform.files import replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from tokenmill._mill.output.store_lease import StoreLease
    from tokenmill._mill.output.work import Work
    from tokenmill._mill.watch.beat import Pulse

_ERROR_CHARACTERS = 600


class Listener(Protocol):
    """Takes every heartbeat of a run; must be quick, and must not raise."""

    def hear(self, beat: dict[str, Any]) -> None:
        """Take a heartbeat; its `state` is `running` until the last one."""


class Heartbeat:
    """Beats until the block ends; the last beat says how it ended."""

    def __init__(self, pulse: Pulse, listeners: Sequence[Listener]) -> None:
        self._pulse = pulse
        self._listeners = listeners
        self._ended = threading.Event()
        self._has_failed = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        if error is None:
            self._tell("finished")
        elif isinstance(error, Exception):
            self._tell("failed", str(error)[:_ERROR_CHARACTERS] or type(error).__name__)
        else:  # Ctrl-C, or the process was asked to end
            self._tell("stopped")

    def _run(self) -> None:
        self._tell("running")
        while not self._ended.wait(EVERY_SECONDS):
            self._tell("running")

    def _tell(self, state: str, error: str | None = None) -> None:
        try:
            beat = self._pulse.beat(state, error)
            for listener in self._listeners:
                listener.hear(beat)
        except Exception as problem:  # nothing that is only for show may stop a run
            if not self._has_failed:
                self._has_failed = True
                say(f"no heartbeat: {problem!r}")


class HeartbeatFile:
    """The newest heartbeat in the work folder; never creates that folder, nor keeps it alive."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._path = work.folder / HEARTBEAT

    def hear(self, beat: dict[str, Any]) -> None:
        """Write the heartbeat; after the run, nothing may be left of the folder."""
        with suppress(OSError):
            if self._work.plan.exists():
                replace_file(self._path, json.dumps(beat).encode())
        # The run may have removed its folder while this file was being written.
        if beat["state"] != "running" and not self._work.plan.exists():
            shutil.rmtree(self._work.folder, ignore_errors=True)


class HeartbeatObject:
    """The newest heartbeat in a store, at a modest rate: every one is a request."""

    def __init__(self, lease: StoreLease) -> None:
        self._lease = lease

    def hear(self, beat: dict[str, Any]) -> None:
        """Put the heartbeat if it is time; what cannot be put is left out."""
        with suppress(StoreError):
            self._lease.tell(beat)


def heartbeats_of(work: Work) -> list[Listener]:
    """Return where the heartbeats of a run without ranks are written."""
    if isinstance(work, StagedWork):
        return [HeartbeatFile(work), HeartbeatObject(work.lease)]
    return [HeartbeatFile(work)]


def replace_file(path: Path, data: bytes) -> None:
    """Write a file that readers see whole: the old one or the new one. It need not be durable."""
    unfinished = path.with_name(path.name + UNFINISHED)
    unfinished.write_bytes(data)
    replace(unfinished, path)
