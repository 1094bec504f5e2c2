"""Tables for vocabularies whose words are looked up: classes of characters, and the normalizer.

The kernels see the text before the normalizer. So a character has the class of what it becomes: it
is part of words, stands alone, is white space, vanishes, or is left to the CPU.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenmill import _core

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# Bits of class_bounds.h.
PART, WHITE, ALONE, GONE, UNSAFE = 0, 1, 2, 4, 8
_CODES = 0x110000
_BASIC = 0x10000
_SURROGATES = slice(0xD800, 0xE000)
_PAGE = 256
_ASCII = 0x80
_VANISHES, _STORED = 0xFE00_0000, 0xFF00_0000
_MOST_BYTES = 15  # of what one character becomes
# ByteClass of the core -> class here: letters and digits, white space, punctuation, others.
_BYTE_CLASSES = np.array([PART, PART, WHITE, WHITE, WHITE, ALONE, PART], dtype=np.uint8)
_BERT_JOINS = [0b1000011, 0b1000011, 0b11100, 0b11100, 0b11100, 0, 0b1000011]
_CLEAN, _NFD, _STRIP_NONSPACING, _LOWERCASE = 10, 2, 12, 5  # normalize::StepKind


class CharTables(NamedTuple):
    """Arrays of the struct Tables."""

    rule_basic: NDArray[np.uint8]
    rule_page_of: NDArray[np.uint16]
    rule_pages: NDArray[np.uint8]
    rewrites: NDArray[np.uint32]
    rewrite_bytes: NDArray[np.uint8]


def supports_word_piece(facts: Mapping[str, Any]) -> str | None:
    """Return what is not supported, a key of `WHOLE`, or None."""
    steps = list(facts["normalizer"])
    known = [_CLEAN, _NFD, _STRIP_NONSPACING, _LOWERCASE]
    in_order = [step for step in known if step in steps]
    has_rule = facts["rule"]["wide_classes"] and facts["joins"].tolist() == _BERT_JOINS
    if not facts["drop_white"] or not has_rule:
        return "unsupported_split"
    is_plain = facts["prefix_space"] == 0 and not facts["has_respelling"]
    is_raw = not any(flags & 2 for _, _, flags in facts["added"])
    if steps != in_order or _CLEAN not in steps or not is_plain or not is_raw:
        return "unsupported_normalizer"
    return None


def char_tables(facts: Mapping[str, Any]) -> CharTables:
    """Return classes and rewritings of all characters."""
    split = _split_classes(facts)
    codes, data, ends, _ = _core.rewrite_characters(facts["normalizer"])
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    written = data.tobytes()
    classes = split.copy()
    rewrites = np.zeros(_CODES, np.uint32)
    stored = StoredTexts()
    reorders = _NFD in facts["normalizer"]
    for code, begin, end in zip(codes.tolist(), begins.tolist(), ends.tolist(), strict=True):
        text = written[begin:end]
        found = _class_of(text, split, len(chr(code).encode()), reorders)
        classes[code] = found
        rewrites[code] = _rewrite(b"" if found == WHITE else text, stored) if found < UNSAFE else 0
    unchanged = np.ones(_CODES, dtype=bool)
    unchanged[codes] = False
    rewrites[unchanged & (classes == WHITE)] = _VANISHES
    if reorders:
        _add_reordered(classes, unchanged)
    classes[_SURROGATES] = UNSAFE
    basic, page_of, pages = _paged(classes)
    return CharTables(basic, page_of, pages, rewrites, stored.array())


def _split_classes(facts: Mapping[str, Any]) -> NDArray[np.uint8]:
    """Return the class of every character in normalized text."""
    above = np.arange(_CODES - _BASIC)
    page = facts["rule_page_of"][above >> 8].astype(np.int64)
    wide = facts["rule_pages"][page << 8 | (above & 255)]
    numbers = np.concatenate([facts["rule_basic"], wide])
    for byte in range(_ASCII):
        character = chr(byte)
        numbers[byte] = (
            0 if character.isalnum() else 2 if character == " " or byte in range(9, 14) else 5
        )
    return _BYTE_CLASSES[numbers]


def _class_of(text: bytes, split: NDArray[np.uint8], size: int, reorders: bool) -> int:
    """Return the class of a character of `size` bytes that becomes `text`."""
    if not text:
        return GONE
    characters = text.decode()
    found = {int(split[ord(character)]) for character in characters}
    moves = reorders and any(_may_move(character) for character in characters)
    is_many = len(characters) > size or len(text) > _MOST_BYTES
    if len(found) > 1 or moves or is_many or (found == {ALONE} and len(characters) > 1):
        return UNSAFE
    return found.pop()


def _may_move(character: str) -> bool:
    """Whether decomposing may put it before or after a neighbour, or that is not known."""
    return bool(unicodedata.combining(character)) or unicodedata.category(character) == "Cn"


def _add_reordered(classes: NDArray[np.uint8], unchanged: NDArray[np.bool_]) -> None:
    """Mark the characters that stay as they are, but not where they are."""
    for code in np.flatnonzero(unchanged).tolist():
        if code >= _ASCII and _may_move(chr(code)):
            classes[code] = UNSAFE


class StoredTexts:
    """Texts back to back, each of them once."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._data = bytearray()

    def place(self, text: bytes) -> int:
        """Return where a text begins."""
        if text not in self._places:
            self._places[text] = len(self._data)
            self._data += text
        return self._places[text]

    def array(self) -> NDArray[np.uint8]:
        """Return all of them, and some room to read beyond."""
        return np.frombuffer(bytes(self._data) + bytes(64), np.uint8)


def _rewrite(text: bytes, stored: StoredTexts) -> int:
    """Return the word of `rewrites` for a text; long ones go to `stored`.

    b"a" -> 0x61, b"" -> 0xFE000000
    """
    if not text:
        return _VANISHES
    if len(text.decode()) == 1 and text != b"\0":
        return int.from_bytes(text, "little")
    return _STORED | len(text) << 20 | stored.place(text)


def _paged(
    classes: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.uint16], NDArray[np.uint8]]:
    """Return the classes as the core keeps them: 65536 of them, and pages of 256 above."""
    above = classes[_BASIC:].reshape(-1, _PAGE)
    pages, page_of = np.unique(above, axis=0, return_inverse=True)
    return (
        classes[:_BASIC].copy(),
        page_of.reshape(-1).astype(np.uint16),
        np.ascontiguousarray(pages).reshape(-1),
    )
