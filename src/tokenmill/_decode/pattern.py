"""Replacing what a pattern matches: the automaton of the pattern, walked character by character."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MATCH = 0x8000
_START = 1


def replace_pattern(pattern: str, new: str) -> Callable[[str], str]:
    """Return the function that replaces all matches; NotRegular where no automaton is exact."""
    matches = _matcher(pattern)

    def change(text: str) -> str:
        pieces: list[str] = []
        end = 0
        for begin, stop in matches(text):
            pieces += (text[end:begin], new)
            end = stop
        return "".join([*pieces, text[end:]])

    return change


@lru_cache(maxsize=16)
def _matcher(pattern: str) -> Callable[[str], list[tuple[int, int]]]:
    from tokenmill._compile.split import compile_stage  # few decoders need it

    stage = compile_stage(pattern, "onig", "isolated", invert=False)
    begins: list[int] = stage.ranges[:, 0].tolist()
    classes: list[int] = stage.ranges[:, 2].tolist()
    table: list[list[int]] = stage.next.tolist()

    def matches(text: str) -> list[tuple[int, int]]:
        symbols = [classes[bisect_right(begins, ord(c)) - 1] for c in text] + [stage.n_classes]
        found: list[tuple[int, int]] = []
        position = 0
        while position < len(text):
            end = _match_end(table, symbols, position)
            if end > position:
                found.append((position, end))
            position = max(end, position + 1)
        return found

    return matches


def _match_end(table: Sequence[Sequence[int]], symbols: Sequence[int], position: int) -> int:
    """Return the end of the match that begins here, or -1."""
    state, end = _START, -1
    while state:
        entry = table[state][symbols[position]]
        if entry & _MATCH:
            end = position
        state = entry & ~_MATCH
        position += 1
    return end
