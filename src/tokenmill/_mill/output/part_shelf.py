"""Where ranks put parts for each other. In a folder that all of them see, a part is there at once.

`StoredPartShelf` does the same in a store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._mill.output.parts import Part, read_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._mill.output.parts import PartRecord
    from tokenmill._mill.output.work import Work


class PartShelf:
    """The parts of all ranks, and the order of their documents."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def read(self, stream: int, part: int) -> PartRecord | None:
        """Return the record of a part; None if there is none, or its file is not whole."""
        return read_part(self._work.parts, stream, part)

    def share(self, record: PartRecord) -> None:
        """Let other ranks see a part that this one has committed."""

    def part(self, record: PartRecord, dtype: str) -> Part:
        """Return a part of any rank."""
        return Part(self._work.parts, record, dtype)

    def fetch_columns(self, parts: Sequence[Part]) -> None:
        """Get everything but the ids of these parts, many at once: they will be read one by one."""

    def share_order(self) -> None:
        """Let other ranks see the order of documents that this one has found, if there is one."""

    def fetch_order(self) -> None:
        """Get the order of documents, if there is one."""
