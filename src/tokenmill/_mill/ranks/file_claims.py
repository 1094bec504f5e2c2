"""Claims as files of a folder that all ranks share.

    _work/ranks/<group>/<task>.<generation>   a claim, with the name of its owner; created once
    _work/ranks/<group>/<task>.done           the task is done
    _work/ranks/beats/<owner>.<sequence>      the heartbeat of a rank, and what it does
    _work/ranks/beats/<owner>.ended           a rank that has ended by itself

Names carry what others must know, so one listing shows all ranks. Only creating a file that must
not exist (O_EXCL) and renaming are needed; locks are not.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from tokenmill._files import create_exclusive, writing
from tokenmill._mill.ranks.claims import (
    DONE_NAME,
    ENDED,
    ENDED_NAME,
    beats_of,
    claim_name,
    picture_of,
)
from tokenmill._platform.files import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokenmill._mill.ranks.claims import Picture

_BEATS = "beats"


class FileClaims:
    """The claims of a run, in a folder. It is gone when the run is finished."""

    least_pause = 0.0

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[str, Path] = {}  # the heartbeat of each rank of this process
        with writing(folder):
            (folder / _BEATS).mkdir(parents=True, exist_ok=True)

    def look(self, group: str, count: int) -> Picture:
        """List the tasks of a group, which has `count` of them."""
        with writing(self._folder):
            (self._folder / group).mkdir(exist_ok=True)
        return picture_of(_names(self._folder / group), count)

    def claim(self, group: str, task: int, generation: int, owner: str) -> bool:
        """Create a claim; return whether it is new, which it is for exactly one caller."""
        with writing(self._folder):
            return create_exclusive(self._path(group, task, str(generation)), owner.encode())

    def owner(self, group: str, task: int, generation: int) -> str:
        """Return who created a claim; nobody, if that process has not written its name yet."""
        return self._path(group, task, str(generation)).read_text()

    def mark_done(self, group: str, task: int) -> None:
        """Mark a task as done, after everything it made is in its place; may be repeated."""
        with writing(self._folder):
            create_exclusive(self._path(group, task, DONE_NAME), b"")

    def is_done(self, group: str, task: int) -> bool:
        """Return whether a task is marked."""
        return self._path(group, task, DONE_NAME).exists()

    def beat(self, owner: str, sequence: int, state: Mapping[str, Any]) -> None:
        """Show that a rank lives. ENDED as the sequence number is its last one."""
        last = str(sequence) if sequence != ENDED else ENDED_NAME
        folder = self._folder / _BEATS
        unnamed = folder / f".{owner}"
        unnamed.write_text(json.dumps(dict(state)))
        beat = folder / f"{owner}.{last}"
        replace(unnamed, beat)
        before, self._last[owner] = self._last.get(owner), beat
        if before is not None:
            before.unlink(missing_ok=True)

    def beats(self) -> dict[str, int]:
        """List the last sequence number of every rank."""
        return beats_of(_names(self._folder / _BEATS))

    def forget(self, owner: str) -> None:
        """Remove the heartbeat of a rank: the run is finished, and claims are being removed."""
        last = self._last.pop(owner, None)
        if last is not None:
            last.unlink(missing_ok=True)

    def _path(self, group: str, task: int, what: str) -> Path:
        return self._folder / claim_name(group, task, what)


def rank_states(folder: Path) -> list[dict[str, Any]]:
    """Return what each rank last said about itself, by rank, for people to look at."""
    found: dict[str, dict[str, Any]] = {}
    beats = folder / _BEATS
    for name in _names(beats) if beats.is_dir() else ():
        with contextlib.suppress(OSError, ValueError):  # it was just replaced
            changed = (beats / name).stat().st_mtime
            owner = name.rpartition(".")[0]
            if owner not in found or found[owner]["changed"] < changed:
                found[owner] = {**json.loads((beats / name).read_bytes()), "changed": changed}
    return sorted(found.values(), key=lambda state: (state["rank"], state["changed"]))


def _names(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        yield from (entry.name for entry in entries if not entry.name.startswith("."))
