"""Errors that end the whole run, told to the other ranks.

An error of the data ends it: every rank would find the same. An error of one machine, such as a
full disk, ends one rank, and the others take over its tasks.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tokenmill._errors import RankFailed, TokenmillError

if TYPE_CHECKING:
    from tokenmill._mill.output.work import Work
    from tokenmill._mill.ranks.place import RankPlace

_NAME = "ranks/failed.json"


class Failures:
    """The last error that ended the run. What was there at the start is of an earlier try."""

    def __init__(self, work: Work, place: RankPlace) -> None:
        self._work = work
        self._place = place
        self._before = self._read()

    def report(self, error: Exception) -> None:
        """Tell other ranks of an error, if it is of the data and this rank has found it."""
        is_of_data = isinstance(error, TokenmillError) and not isinstance(error, OSError)
        if not is_of_data or isinstance(error, RankFailed):
            return
        facts = {**self._place.facts(), "owner": self._place.owner, "error": str(error)}
        with contextlib.suppress(TokenmillError):  # this rank's own error is the one to show
            self._work.write_record(_NAME, facts)

    def check(self) -> None:
        """Raise RankFailed if another rank has found an error since the start of this one."""
        found = self._read()
        if found is None or found == self._before:
            return
        raise RankFailed(
            f"rank {found['rank']} of {found['ranks']} failed: {found['error']}",
            rank=found["rank"],
            where=f"{found['host']}, process {found['process']}",
        )

    def _read(self) -> Any:
        return self._work.read_record(_NAME)
