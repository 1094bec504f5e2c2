"""Early: what is handed on while parts still come."""

from __future__ import annotations

from typing import Any, cast

from tokenmill._mill.run.early import Early, EarlyShards, EarlyTable


class LatePrefix:
    """Parts whose last one comes in the moment in which they are listed."""

    def __init__(self) -> None:
        self._parts = ["first"]
        self.is_complete = False

    @property
    def taken(self) -> list[str]:
        listed = list(self._parts)
        if not self.is_complete:
            self._parts.append("last")
            self.is_complete = True
        return listed


class Seen:
    """What a table and shards were given."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.calls: list[tuple[list[str], bool]] = []

    def extend(self, parts: list[str]) -> None:
        self.parts += parts

    def ready(self, parts: list[str], *, are_last: bool) -> list[Any]:
        self.calls.append((parts, are_last))
        return []


def test_parts_are_the_last_only_if_no_part_can_follow_them() -> None:
    seen = Seen()
    early = Early(
        cast("Any", LatePrefix()),
        cast("Any", lambda record: record),
        cast("EarlyTable", seen),
        cast("EarlyShards", seen),
    )
    early.follow()
    early.follow()
    assert seen.calls == [(["first"], False), (["last"], True)]
    assert seen.parts == ["first", "last"]
