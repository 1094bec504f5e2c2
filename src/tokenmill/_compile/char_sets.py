"""Sets of code points as sorted, disjoint, half-open ranges: the algebra of character classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CharSet = tuple[tuple[int, int], ...]

LIMIT = 0x110000
EVERY: CharSet = ((0, LIMIT),)
NOTHING: CharSet = ()


def of_chars(chars: Iterable[int]) -> CharSet:
    """Return the set of these code points: `of_chars([98, 97]) == ((97, 99),)`."""
    return union(*(((c, c + 1),) for c in chars))


def union(*sets: CharSet) -> CharSet:
    """All code points that are in any of the sets."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(one for many in sets for one in many):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def complement(chars: CharSet) -> CharSet:
    """All code points that are not in the set."""
    ends = (0, *(end for _, end in chars))
    begins = (*(begin for begin, _ in chars), LIMIT)
    return tuple((end, begin) for end, begin in zip(ends, begins, strict=True) if end < begin)


def intersection(left: CharSet, right: CharSet) -> CharSet:
    """All code points that are in both sets."""
    return complement(union(complement(left), complement(right)))


def contains(chars: CharSet, code_point: int) -> bool:
    """Whether the code point is in the set."""
    return any(begin <= code_point < end for begin, end in chars)
