"""What the word tables are asked, counted slowly: word by word, in tables that never forget.

Only for words that no rule cuts, and a text in which no word comes again right after it was new:
the core merges words of a batch together, and calls those hits of the batch.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LONGEST = 1024  # bytes of a word that a table keeps
_MOST_IDS = 7  # of a word of 17 to 32 bytes


def table_of(size: int, n_ids: int) -> str | None:
    """Return the kind of table that keeps a word; None if none does."""
    if size <= 8:
        return "8_bytes"
    if size <= 16:
        return "16_bytes"
    if size <= 32 and n_ids <= _MOST_IDS:
        return "32_bytes"
    return "long" if size <= LONGEST else None


class SlowTables:
    """Tables of words, as a set."""

    def __init__(self, count_ids: Callable[[str], int]) -> None:
        self._count_ids = count_ids
        self._known: set[str] = set()
        self.hit: Counter[str] = Counter()
        self.missed = 0

    def look_up(self, words: Iterable[str]) -> None:
        """Look words up, and keep those that are new."""
        for word in words:
            kind = table_of(len(word.encode()), self._count_ids(word))
            if word in self._known and kind is not None:
                self.hit[kind] += 1
            else:
                self.missed += 1
                self._known.add(word)

    @property
    def looked_up(self) -> int:
        """How many words were asked for."""
        return self.missed + sum(self.hit.values())
