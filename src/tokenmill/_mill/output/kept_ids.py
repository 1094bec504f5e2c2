"""Ids of parts that wait in memory for their shards, so that they are written only once.

A part whose ids are kept here has all its other sections in its file. If a run ends before the
shards with those ids are finished, the next run makes the part again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from tokenmill._mill.output.parts import PartRecord


class KeptIds:
    """The ids of some parts, by name; many threads may use it.

    `most_held` bytes were here at once, and parts were `refused` for want of room.
    """

    def __init__(self, room: int) -> None:
        self._room = room  # bytes
        self._held = self.most_held = self.refused = 0
        self._arrays: dict[str, list[NDArray[Any]]] = {}
        self._lock = threading.Lock()

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def begin(self, name: str) -> bool:
        """Begin a part, if there is room; what was kept under its name is dropped."""
        self.drop(name)
        with self._lock:
            if self._held >= self._room:
                self.refused += 1
                return False
            self._arrays[name] = []
        return True

    def append(self, name: str, ids: NDArray[Any]) -> None:
        """Add the next ids of a part."""
        with self._lock:
            self._arrays[name].append(ids)
            self._held += ids.nbytes
            self.most_held = max(self.most_held, self._held)

    def views(self, name: str, begin: int, count: int) -> Iterator[NDArray[Any]]:
        """Yield `count` ids of a part, from the one at `begin`."""
        for ids in self._arrays[name]:
            if count <= 0:
                return
            if begin < len(ids):
                view = ids[begin : begin + count]
                yield view
                count -= len(view)
            begin = max(begin - len(ids), 0)

    def drop(self, name: str) -> None:
        """Forget the ids of a part, if they are here."""
        with self._lock:
            gone = self._arrays.pop(name, ())
            self._held -= sum(ids.nbytes for ids in gone)


def usable_parts(
    done: Mapping[int, list[PartRecord]], is_covered: Callable[[int, int], bool]
) -> dict[int, list[PartRecord]]:
    """Return the parts of an earlier run that this one can use.

    They have their ids, or finished shards have all of them: `is_covered` is asked with the places
    of the first token and after the last one. The place of a part after a gap is not known.
    """
    found: dict[int, list[PartRecord]] = {}
    tokens = 0
    is_known = True  # where parts are
    for stream in range(max(done, default=-1) + 1):
        records = done.get(stream, [])
        usable = 0
        for number, record in enumerate(records):
            begin, tokens = tokens, tokens + record.tokens
            if usable == number and (record.has_ids or (is_known and is_covered(begin, tokens))):
                usable += 1
        if usable:
            found[stream] = records[:usable]
        is_known = is_known and bool(records) and records[-1].last
    return found
