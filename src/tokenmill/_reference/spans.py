"""Offsets of a reference library: characters to bytes, and from pieces where it has none."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Spans: TypeAlias = list[tuple[int, int]]

_LEAD, _CONTINUES = 0xC0, 0x80


def in_bytes(text: str, spans: Spans) -> Spans:
    """Turn positions of characters into those of UTF-8."""
    places = np.zeros(len(text) + 1, dtype=np.int64)
    np.cumsum([len(character.encode()) for character in text], out=places[1:])
    return [(int(places[begin]), int(places[end])) for begin, end in spans]


def covered(text: str, pieces: Sequence[bytes]) -> Spans:
    """Return the characters of `text` that pieces of its UTF-8 are in."""
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    rank = np.zeros(len(data) + 1, dtype=np.int64)
    np.cumsum((data & _LEAD) != _CONTINUES, out=rank[1:])
    ends = np.cumsum([0, *map(len, pieces)])
    return [(int(rank[begin + 1]) - 1, int(rank[end])) for begin, end in pairwise(ends.tolist())]
