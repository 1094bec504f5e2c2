"""Documents of a call -> chunks that are encoded one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._cuda.texts import TextPart

_USUAL = 8  # chunks of a call, or more if they would be too large
_LEAST = 4 << 20  # bytes of a usual chunk


@dataclass(frozen=True)
class Chunk:
    """Documents that are encoded together."""

    part: TextPart
    begin: int
    end: int

    @cached_property
    def size(self) -> int:
        """Bytes of text."""
        return int(self.part.offsets[self.end] - self.part.offsets[self.begin])

    @property
    def places(self) -> slice:
        """Its places in the offsets of the result, the end of the last document included."""
        first = self.part.first
        return slice(first + self.begin, first + self.end + 1)


def chunks_of(parts: Sequence[TextPart], most: int) -> list[Chunk]:
    """Cut documents into chunks of at most `most` bytes, or of one longer document.

    The first and the last ones are smaller: all that works on chunks starts earlier, and less is
    left to do when the last one is there.
    """
    total = left = sum(part.size for part in parts)
    usual = min(max(total // _USUAL, _LEAST), most)
    chunks: list[Chunk] = []
    for part in parts:
        begin = 0
        while begin < len(part):
            size = usual >> max(2 - len(chunks), 0)
            size = left if total <= usual else min(size, max(left // 2, usual // 4))
            chunks.append(Chunk(part, begin, part.end_of(begin, size)))
            begin, left = chunks[-1].end, left - chunks[-1].size
    return chunks
