"""Merges for runs of one character whose pieces all have the same score, as Llama has for blanks.

SentencePiece merges equal scores from left to right: a run grows from its left end. A
tokenizer.json needs an order: first the merges that double, so that a run falls into blocks of the
longest piece and a rest, then those with the longest left part, which join the rest.

    1 1 1 1 1 1 1  ->  2 2 2 1  ->  4 2 1  ->  6 1  ->  7
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_BLOCKS = 4  # runs of so many longest pieces are tried


def merges_of_runs(pieces: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return the merges; None if the pieces are not such runs, or if no order does the same."""
    character = pieces[0][0]
    lengths = {len(piece) for piece in pieces}
    longest = max(lengths)
    doubled = [1 << power for power in range(longest.bit_length() - 1)]
    is_run = all(piece == character * len(piece) for piece in pieces)
    if not is_run or longest != 1 << len(doubled) or not lengths.issuperset(doubled[1:]):
        return None
    pairs = [(length, length) for length in doubled]
    parts = sorted({1, *lengths}, reverse=True)
    pairs += [(a, b) for a in parts for b in parts if a + b in lengths and (a, b) not in pairs]
    # A longer run is so many longest pieces before one of these: no merge has them as a part.
    for size in range(1, _BLOCKS * longest + 1):
        if _by_rank(size, pairs) != _from_left(size, lengths):
            return None
    if not _grows_first(longest, lengths):
        return None
    return [(character * a, character * b) for a, b in pairs]


def _from_left(size: int, lengths: Collection[int]) -> list[int]:
    """Merge a run as SentencePiece does: always the leftmost two that are a piece."""
    parts = [1] * size
    while (at := _leftmost(parts, lengths)) >= 0:
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _leftmost(parts: Sequence[int], lengths: Collection[int]) -> int:
    sums = (a + b for a, b in pairwise(parts))
    return next((at for at, total in enumerate(sums) if total in lengths), -1)


def _by_rank(size: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Merge a run as `tokenizers` does: always the first pair of the list, the leftmost of them."""
    parts = [1] * size
    while True:
        neighbours = [*pairwise(parts)]
        pair = next((one for one in pairs if one in neighbours), None)
        if pair is None:
            return parts
        at = neighbours.index(pair)
        parts[at : at + 2] = [sum(pair)]


def _grows_first(longest: int, lengths: Collection[int]) -> bool:
    """Whether the longest piece is done before anything is merged to the right of it."""
    parts = [1] * (2 * longest)
    while parts[0] < longest:
        at = _leftmost(parts, lengths)
        if at < 0:
            return False
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return all(part == 1 for part in parts[1:])
