"""Facts about Unicode that tell whether composing (NFC) changes a text: arrays for a device.

Code points that this Python does not know count as changed, so a newer Unicode version in the core
changes nothing.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAYBE = 1 << 8  # it may compose with the character before it
CHANGED = 1 << 9  # it never stays, or is left to the CPU
_UNICODE = 0x110000
_PAGE = 256
_PAIR = 2
_JAMO = ((0x1161, 0x1176), (0x11A8, 0x11C3))  # vowels and finals of Hangul, which compose


@lru_cache(maxsize=1)
def unsafe_bits() -> NDArray[np.uint32]:
    """Return a bit for every code point that composing (NFC) may change, move or merge.

    All others stay unchanged next to any character.
    """
    unsafe = np.packbits(_facts() != 0, bitorder="little")
    return unsafe.view(np.uint32)


@lru_cache(maxsize=1)
def _facts() -> NDArray[np.uint16]:
    """Return the combining class of every code point, with MAYBE and CHANGED."""
    facts = np.zeros(_UNICODE, np.uint16)
    for code in range(_UNICODE):
        character = chr(code)
        if unicodedata.category(character) in ("Cn", "Cs"):
            facts[code] = CHANGED
        elif combining := unicodedata.combining(character):
            facts[code] = combining
    for code in _decompositions():
        if not unicodedata.is_normalized("NFC", chr(code)):
            facts[code] |= CHANGED
    facts[list(_pairs()[1])] |= MAYBE
    for begin, end in _JAMO:
        facts[begin:end] = CHANGED
    return facts


@lru_cache(maxsize=1)
def _decompositions() -> dict[int, list[str]]:
    """Return the code points that stand for others, which are one or two hexadecimal numbers."""
    every = ((code, unicodedata.decomposition(chr(code))) for code in range(_UNICODE))
    return {code: parts.split() for code, parts in every if parts and not parts.startswith("<")}


def _pairs() -> tuple[set[int], set[int]]:
    """Return the code points that stand for a pair, with the first parts; and the second parts.

    Hangul syllables are not in it: their parts are jamo.
    """
    found = {code: parts for code, parts in _decompositions().items() if len(parts) == _PAIR}
    firsts = {int(parts[0], 16) for parts in found.values()}
    return firsts | found.keys(), {int(parts[1], 16) for parts in found.values()}


@lru_cache(maxsize=1)
def composing_pairs() -> list[tuple[int, int]]:
    """Return the pairs that composing changes, of two characters that stay on their own.

    The left one has combining class 0, the right one is MAYBE.
    """
    facts = _facts()
    firsts, seconds = ([code for code in sorted(s) if not facts[code] & CHANGED] for s in _pairs())
    return [
        (left, right)
        for left in firsts
        if not facts[left] & 255
        for right in seconds
        if not unicodedata.is_normalized("NFC", chr(left) + chr(right))
    ]


def pair_hash(left: int, right: int) -> int:
    """Return the hash of a pair, the same as in checks.h.

    (0, 0) -> 0
    """
    value = (left * 0x9E3779B1 + right * 0x85EBCA6B) & 0xFFFFFFFF
    return value ^ value >> 15


@lru_cache(maxsize=1)
def normal_tables() -> dict[str, NDArray[Any]]:
    """Return the arrays of the struct Tables for NFC."""
    pages: dict[bytes, int] = {}
    page_of = [pages.setdefault(p.tobytes(), len(pages)) for p in _facts().reshape(-1, _PAGE)]
    pairs = composing_pairs()
    slots = np.zeros(1 << (2 * len(pairs)).bit_length(), np.uint64)
    for left, right in pairs:
        at = pair_hash(left, right) % slots.size
        while slots[at]:
            at = (at + 1) % slots.size
        slots[at] = left << 32 | right
    return {
        "unsafe_basic": unsafe_bits(),
        "normal_page_of": np.array(page_of, np.uint16),
        "normal_pages": np.frombuffer(b"".join(pages), np.uint16),
        "normal_pairs": slots,
    }
