"""Documents that are in an output more than once: exact copies, by a hash of their ids.

Sorted in parts by the first bits of the hash, so memory stays bounded however many there are.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._mill.report.per_document import slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 8_000_000  # documents that are sorted at a time
_SHOWN = 10


class Duplicates:
    """Counts copies: of a text that is there three times, two are copies."""

    def __init__(self, groups: int) -> None:
        self.compared = 0
        self.copies = 0
        self.tokens = 0
        self.texts = 0  # that have copies
        self.by_group = np.zeros(groups, np.int64)
        self._largest: list[tuple[int, int]] = []  # copies, the first document of the text

    def count(
        self, hashes: NDArray[np.uint64], tokens: NDArray[np.int64], group_of: NDArray[Any]
    ) -> None:
        """Count copies among all documents; those with 0 tokens are left out."""
        bits = (max(1, -(-len(hashes) // _AT_ONCE)) - 1).bit_length()
        for part in range(1 << bits):
            found = [np.empty(0, np.int64)]
            for some in slices(len(hashes)):
                mine = tokens[some] > 0
                if bits:
                    mine &= (hashes[some] >> np.uint64(64 - bits)) == np.uint64(part)
                found.append(np.flatnonzero(mine) + some.start)
            self._count_some(np.concatenate(found), hashes, tokens, group_of)

    def _count_some(
        self,
        numbers: NDArray[np.int64],
        hashes: NDArray[np.uint64],
        tokens: NDArray[np.int64],
        group_of: NDArray[Any],
    ) -> None:
        # Equal hashes of documents of different lengths are not copies.
        order = numbers[np.lexsort((tokens[numbers], hashes[numbers]))]
        same = np.zeros(len(order), bool)
        same[1:] = (hashes[order[1:]] == hashes[order[:-1]]) & (
            tokens[order[1:]] == tokens[order[:-1]]
        )
        copies = order[same]
        self.compared += len(order)
        self.copies += len(copies)
        self.tokens += int(tokens[copies].sum())
        np.add.at(self.by_group, group_of[copies], 1)
        firsts = np.flatnonzero(~same)
        counts = np.diff(np.append(firsts, len(order))) - 1
        self.texts += int((counts > 0).sum())
        for at in np.argsort(counts)[::-1][:_SHOWN].tolist():
            if counts[at]:
                self._largest.append((int(counts[at]), int(order[firsts[at]])))
        self._largest = heapq.nlargest(_SHOWN, self._largest)

    @property
    def largest(self) -> list[tuple[int, int]]:
        """The texts with the most copies: how many, and the first document."""
        return self._largest
