"""Claims as objects of a store: created once, by conditional puts.

    <store>/_work/ranks/<group>/<task>.<generation>   a claim, with its owner; created once
    <store>/_work/ranks/<group>/<task>.done           the task is done
    <store>/_work/ranks/beats/<owner>.<sequence>      the heartbeat of a rank, and what it does
    <store>/_work/ranks/beats/<owner>.ended           a rank that has ended by itself

The same names as in a folder (`file_claims`). What is relied on: a put that must create fails if
the object is there, and a listing shows every object that was there when it began. S3, Google Cloud
Storage and Azure promise both. A listing of many pages may also show some later objects and not
others; every use of it takes it for what was true at its beginning, at least.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from typing import TYPE_CHECKING, Any

from tokenmill._errors import ObjectNotFound
from tokenmill._mill.ranks.claims import (
    DONE_NAME,
    ENDED,
    ENDED_NAME,
    UNKNOWN,
    beats_of,
    claim_name,
    picture_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill._mill.output.store_folder import StoreFolder
    from tokenmill._mill.ranks.claims import Picture

_BEATS = "beats"
_LEAST_PAUSE = 0.25  # seconds: every look costs money


class StoreClaims:
    """The claims of a run, in a folder of a store."""

    least_pause = _LEAST_PAUSE

    def __init__(self, folder: StoreFolder) -> None:
        self._folder = folder
        self._last: dict[str, str] = {}  # the heartbeat of each rank of this process

    def look(self, group: str, count: int) -> Picture:
        """List the tasks of a group, which has `count` of them."""
        return picture_of((name for name, _ in self._folder.list(group)), count)

    def claim(self, group: str, task: int, generation: int, owner: str) -> bool:
        """Create a claim; return whether it is new, which it is for exactly one caller."""
        # If an answer is lost, the claim is ours if it has this: no other one ever has.
        data = f"{owner}\n{secrets.token_hex(8)}\n"
        return self._folder.create(claim_name(group, task, str(generation)), data.encode())

    def owner(self, group: str, task: int, generation: int) -> str:
        """Return who created a claim; nobody, if it is gone with the run."""
        found = self._folder.read(claim_name(group, task, str(generation)))
        return UNKNOWN if found is None else found[0].decode().partition("\n")[0]

    def mark_done(self, group: str, task: int) -> None:
        """Mark a task as done, after everything it made is in its place; may be repeated."""
        self._folder.write(claim_name(group, task, DONE_NAME), b"")

    def is_done(self, group: str, task: int) -> bool:
        """Return whether a task is marked."""
        return self._folder.find(claim_name(group, task, DONE_NAME)) is not None

    def beat(self, owner: str, sequence: int, state: Mapping[str, Any]) -> None:
        """Show that a rank lives. ENDED as the sequence number is its last one."""
        name = f"{_BEATS}/{owner}.{ENDED_NAME if sequence == ENDED else sequence}"
        self._folder.write(name, json.dumps(dict(state)).encode())
        before, self._last[owner] = self._last.get(owner), name
        if before is not None and before != name:
            self._folder.remove([before])

    def beats(self) -> dict[str, int]:
        """List the last sequence number of every rank."""
        return beats_of(name for name, _ in self._folder.list(_BEATS))

    def forget(self, owner: str) -> None:
        """Remove the heartbeat of a rank: the run is finished, and claims are being removed."""
        last = self._last.pop(owner, None)
        if last is not None:
            self._folder.remove([last])


def rank_states(folder: StoreFolder) -> list[dict[str, Any]]:
    """Return what each rank last said about itself, by rank, for people to look at."""
    found: dict[str, dict[str, Any]] = {}
    for name, info in folder.list(_BEATS):
        changed = info.modified.timestamp()
        owner = name.rpartition(".")[0]
        if owner in found and found[owner]["changed"] > changed:
            continue
        with contextlib.suppress(ObjectNotFound, ValueError):  # it was just replaced
            state = folder.read_json(f"{_BEATS}/{name}")
            if state is not None:
                found[owner] = {**state, "changed": changed}
    return sorted(found.values(), key=lambda state: (state["rank"], state["changed"]))
