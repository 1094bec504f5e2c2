"""Tables for vocabularies whose words are looked up: classes of characters, and the normalizer.

The kernels see the text before the normalizer. So a character has the class of what it becomes: it
is part of words, stands alone, is white space, vanishes, or is left to the CPU.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenmill import _core
from tokenmill._compile.normalizer import serialize_normalizer
from tokenmill._cuda.added_texts import NORMALIZED, added_texts
from tokenmill._cuda.char_tables import MARKER
from tokenmill._spec import NormalizerStep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# Bits of class_bounds.h.
PART, WHITE, ALONE, GONE, UNSAFE, MARK = 0, 1, 2, 4, 8, 16
UNIGRAM_STEP = 3  # the most ids of a word for each of its bytes
_CODES = 0x110000
_BASIC = 0x10000
_SURROGATES = slice(0xD800, 0xE000)
_PAGE = 256
_ASCII = 0x80
_WHITE_SPACE, _VANISHES, _STORED = 0xFD00_0000, 0xFE00_0000, 0xFF00_0000
_MOST_BYTES = 15  # of what one character becomes
# ByteClass of the core -> class here: letters and digits, white space, punctuation, others.
_BYTE_CLASSES = np.array([PART, PART, WHITE, WHITE, WHITE, ALONE, PART], dtype=np.uint8)
_BERT_JOINS = [0b1000011, 0b1000011, 0b11100, 0b11100, 0b11100, 0, 0b1000011]
_CLEAN, _NFD, _STRIP_NONSPACING, _LOWERCASE = 10, 2, 12, 5  # normalize::StepKind
_CHARS_MAP = 15
_WORDS_AT_BLANKS = [0x7F, 0x7F, 0, 0x7F, 0x7F, 0x7F, 0x7F]
_LONGEST_PIECE = 127  # bytes
_TO_BLANKS = NormalizerStep("replace", a=MARKER, b=" ")
# What comes after the map of characters. The first drops white space around words, the second
# only shortens runs of blanks.
_SQUEEZED = serialize_normalizer(
    (NormalizerStep("squeeze"), NormalizerStep("replace", a=f" {MARKER}", b=" "), _TO_BLANKS)
)
_SHORTENED = serialize_normalizer((NormalizerStep("replace_regex", a=" {2,}", b=" "), _TO_BLANKS))
# Characters that the map of a text sees alone, although they may vanish.
_BREAKS = {0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF}
# Characters that make a cluster with the next one (Grapheme_Cluster_Break=Prepend).
_PREPENDED = {
    *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0xD4E, 0x110BD, 0x110CD, 0x111C2,
    0x111C3, 0x1193F, 0x11941, 0x11A3A, *range(0x11A84, 0x11A8A), 0x11D46, 0x11F02,
}  # fmt: skip
_LONG = 0x800  # characters from here on have three bytes or more


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
    is_raw = not any(token.flags & NORMALIZED for token in added_texts(facts))
    if steps != in_order or _CLEAN not in steps or not is_plain or not is_raw:
        return "unsupported_normalizer"
    has_unknown = facts["unk_id"] < facts["token_count"] and facts["max_characters"] > 0
    return None if has_unknown else "unsupported_model"


def supports_unigram(facts: Mapping[str, Any]) -> str | None:
    """Return what is not supported, a key of `WHOLE`, or None."""
    if facts["joins"].tolist() != _WORDS_AT_BLANKS or facts["rule"]["wide_classes"]:
        return "unsupported_split"
    sizes = np.diff(facts["token_offsets"].astype(np.int64))
    has_unknown = facts["unk_id"] < facts["token_count"] and not facts["has_byte_ids"]
    if facts["whole_text"] or not has_unknown or facts["unknown_score"] >= 0:
        return "unsupported_model"
    if sizes.max(initial=0) > _LONGEST_PIECE or _holds_unknown(facts):
        return "unsupported_model"
    rest = _after_map(facts["normalizer"])
    is_known = (rest, facts["prefix_space"]) in ((_SQUEEZED, 0), (_SHORTENED, 1))
    is_raw = not any(token.flags & NORMALIZED for token in added_texts(facts))
    if not is_known or not is_raw or facts["has_respelling"]:
        return "unsupported_normalizer"
    return None


def _holds_unknown(facts: Mapping[str, Any]) -> bool:
    """Whether a token has the text of the unknown one in it."""
    offsets = facts["token_offsets"]
    begin, end = int(offsets[facts["unk_id"]]), int(offsets[facts["unk_id"] + 1])
    data = facts["token_bytes"].tobytes()
    return begin != end and data.count(data[begin:end]) > 1


def keeps_last_blank(facts: Mapping[str, Any]) -> bool:
    """Whether white space at the end of a text is a word."""
    return _after_map(facts["normalizer"]) == _SHORTENED


def _map_of(program: bytes) -> bytes:
    """Return the first step of a normalizer if it is a map of characters, else nothing."""
    if program[:1] != bytes([_CHARS_MAP]):
        return b""
    return program[: 5 + int.from_bytes(program[1:5], "little")]


def _after_map(program: bytes) -> bytes:
    return program[len(_map_of(program)) :]


class CharRules(NamedTuple):
    """How the kernels see characters.

    `split`: the class of each in normalized text. `program`: the part of the normalizer that looks
    at characters. `reorders`: it may move marks. `by_clusters`: it may look at several together.
    """

    split: NDArray[np.uint8]
    program: bytes
    reorders: bool = False
    by_clusters: bool = False


def _rules_of(facts: Mapping[str, Any]) -> CharRules:
    program = facts["normalizer"]
    if "trie_scores" not in facts:
        return CharRules(_split_classes(facts), program, reorders=_NFD in program)
    return CharRules(_blank_classes(program), _map_of(program), by_clusters=True)


def _blank_classes(program: bytes) -> NDArray[np.uint8]:
    """Return what is white space for a normalizer after its map of characters."""
    rest = _after_map(program)
    classes = np.zeros(_CODES, np.uint8)
    for code in range(_CODES):
        if unicodedata.category(chr(code)) in ("Zs", "Zl", "Zp", "Cc"):
            text = b"a" + chr(code).encode()
            is_white = _core.normalize(rest, text + b"b") == _core.normalize(rest, b"a b")
            classes[code] = WHITE if is_white else PART
    classes[ord(MARKER)] = UNSAFE
    return classes


def char_tables(facts: Mapping[str, Any]) -> CharTables:
    """Return classes and rewritings of all characters."""
    rules = _rules_of(facts)
    codes, data, ends, slow = _core.rewrite_characters(rules.program)
    begins = np.concatenate([[0], ends])[:-1].astype(np.int64)
    written = data.tobytes()
    classes = rules.split.copy()
    rewrites = np.zeros(_CODES, np.uint32)
    rewrites[classes == WHITE] = _WHITE_SPACE
    stored = StoredTexts()
    for code, begin, end in zip(codes.tolist(), begins.tolist(), ends.tolist(), strict=True):
        text = written[begin:end]
        found = classes[code] = _class_of(text, rules, len(chr(code).encode()))
        rewrites[code] = _WHITE_SPACE if found == WHITE else _rewrite(text, stored)
    if rules.reorders:
        _add_reordered(classes, codes)
    if rules.by_clusters:
        _add_clusters(classes, slow, rules.program)
    rewrites[classes == UNSAFE] = 0
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
    classes: NDArray[np.uint8] = _BYTE_CLASSES[numbers]
    return classes


def _class_of(text: bytes, rules: CharRules, size: int) -> int:
    """Return the class of a character of `size` bytes that becomes `text`."""
    if not text:
        return GONE
    characters = text.decode()
    found = {int(rules.split[ord(character)]) for character in characters}
    moves = rules.reorders and any(_may_move(character) for character in characters)
    most = UNIGRAM_STEP * size - 1 if rules.by_clusters else _MOST_BYTES
    is_many = len(text) > min(most, _MOST_BYTES)
    is_many |= not rules.by_clusters and len(characters) > size
    if len(found) > 1 or moves or is_many or (found == {ALONE} and len(characters) > 1):
        return UNSAFE
    return found.pop()


def _may_move(character: str) -> bool:
    """Whether decomposing may put it before or after a neighbour, or that is not known."""
    return bool(unicodedata.combining(character)) or unicodedata.category(character) == "Cn"


def _add_reordered(classes: NDArray[np.uint8], changed: NDArray[np.uint32]) -> None:
    """Mark the characters that stay as they are, but not where they are."""
    for code in np.setdiff1d(np.arange(_ASCII, _CODES), changed).tolist():
        if _may_move(chr(code)):
            classes[code] = UNSAFE


def _add_clusters(classes: NDArray[np.uint8], slow: NDArray[np.uint32], program: bytes) -> None:
    """Mark the characters that a map of clusters may see with a neighbour.

    It looks up clusters of less than six bytes as a whole. So a mark is safe after a character of
    three bytes, if it has as many itself.
    """
    lines_end_alike = not _core.normalize(program, b"\r\n").strip(b" ")
    for code in slow.tolist():
        category = unicodedata.category(chr(code))
        is_break = code in _BREAKS or (category == "Cc" and (code != ord("\r") or lines_end_alike))
        if is_break:
            continue
        is_mark = code >= _LONG and code not in _PREPENDED and category != "Cn"
        is_mark &= classes[code] in (PART, GONE)
        classes[code] = classes[code] | MARK if is_mark else UNSAFE


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
