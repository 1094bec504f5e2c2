"""Checks that the kernels can run a tokenizer; arrays for its added tokens and normalizer."""

from __future__ import annotations

import sys
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenmill._cuda.char_tables import MARKER, added_runs, blank_steps
from tokenmill._cuda.reasons import device_error
from tokenmill._cuda.tables import (
    BYTES,
    CHARACTERS,
    LOOKED_UP,
    NOT_A_TOKEN,
    UNIGRAM,
    exact_tokens,
)
from tokenmill._cuda.word_tables import supports_unigram, supports_word_piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

IDENTITY, NFC = b"", b"\x01"  # serialized normalizers that the kernels support
_ADJACENT = 4  # split::Family: words start where no token joins two neighbours
_SPECIAL = 1  # split::AddedFlag
_FAMILIES = (0, 1, 2, 3)  # split::Family: 0 has no rule, an automaton finds the words
_PREFIX_BYTES = 8
_FIRST_BYTES = 7  # the most that fit into a number with their count
_MOST_PREFIXES = 64
_UNICODE = 0x110000
_JAMO = ((0x1161, 0x1176), (0x11A8, 0x11C3))  # vowels and finals of Hangul, which compose


def check_support(facts: Mapping[str, Any], where: str) -> None:
    """Raise DeviceError if the kernels cannot run a model; `facts` are its `device_tables`."""
    if facts["kind"] in LOOKED_UP:
        _check_looked_up(facts, where)
        return
    if facts["kind"] not in (BYTES, CHARACTERS):
        raise device_error("unsupported_model", where=where)
    if facts["has_ends"] or facts["has_ties"]:
        detail = "its merges differ at the ends of words" if facts["has_ends"] else "ranks tie"
        raise device_error("unsupported_model", detail, where)
    if facts["kind"] == CHARACTERS:
        _check_characters(facts, where)
        return
    if not _supports_split(facts):
        raise device_error("unsupported_split", where=where)
    if not facts["plain_ranges"]:
        raise device_error("unsupported_normalizer", "it adds a blank before texts", where)
    if facts["normalizer"] not in (IDENTITY, NFC):
        raise device_error("unsupported_normalizer", where=where)


def _check_characters(facts: Mapping[str, Any], where: str) -> None:
    """Raise DeviceError if the kernels cannot run a vocabulary over characters."""
    if not facts.get("first_byte_id"):
        raise device_error("unsupported_model", "unknown characters do not become bytes", where)
    if exact_tokens(facts).size:
        raise device_error("unsupported_model", "words are tokens that merging cannot make", where)
    if facts["rule"]["family"] != _ADJACENT:
        raise device_error("unsupported_split", where=where)
    steps = blank_steps(facts)
    if steps is None:
        raise device_error("unsupported_normalizer", where=where)
    if steps.in_front and any(text[:1] == b" " for text, _, _ in facts["added"]):
        detail = "an added token may start with the blank in front of a text"
        raise device_error("unsupported_normalizer", detail, where)


def _check_looked_up(facts: Mapping[str, Any], where: str) -> None:
    """Raise DeviceError if the kernels cannot run a vocabulary whose words are looked up."""
    is_unigram = facts["kind"] == UNIGRAM
    reason = supports_unigram(facts) if is_unigram else supports_word_piece(facts)
    if reason is not None:
        raise device_error(reason, where=where)


def _supports_split(facts: Mapping[str, Any]) -> bool:
    family = facts["rule"]["family"]
    if family not in _FAMILIES:
        return False
    is_one_automaton = facts["stage_count"] == 1 and facts["stage_keeps_all"]
    return family != 0 or (is_one_automaton and not facts["stage_on_bytes"])


class AddedPrefixes(NamedTuple):
    """How the texts start that only the CPU can encode: fields of the struct Tables."""

    added_first: NDArray[np.uint32]
    added_prefixes: NDArray[np.uint64]
    added_masks: NDArray[np.uint64]


def added_prefixes(texts: Iterable[bytes], facts: Mapping[str, Any]) -> AddedPrefixes:
    """Return the first bytes of added tokens, and the bytes that the vocabulary does not have.

    Few enough to compare one by one: if there are too many, shorter prefixes cover several.
    """
    wanted = {text for text in texts if text} | _missing_bytes(facts)
    for size in range(_PREFIX_BYTES, 0, -1):
        prefixes = sorted({text[:size] for text in wanted})
        if len(prefixes) <= _MOST_PREFIXES:
            break
    first = np.zeros(8, np.uint32)
    for prefix in prefixes:
        first[prefix[0] >> 5] |= np.uint32(1 << (prefix[0] & 31))
    return AddedPrefixes(
        first,
        np.array([int.from_bytes(prefix, "little") for prefix in prefixes], np.uint64),
        np.array([(1 << 8 * len(prefix)) - 1 for prefix in prefixes], np.uint64),
    )


def packed_first_bytes(first: NDArray[np.uint32]) -> int:
    """Pack the bytes of a map of 256 bits into a number: up to seven, and their count on top.

    [0, 2 ** 28, 0, 0, 0, 0, 0, 0] -> 0x010000000000003C
    """
    found = np.flatnonzero(np.unpackbits(first.view(np.uint8), bitorder="little")).tolist()
    few = bytes(found) if len(found) <= _FIRST_BYTES else b""
    return int.from_bytes(few, "little") | min(len(found), 255) << 56


def _missing_bytes(facts: Mapping[str, Any]) -> set[bytes]:
    """Return the bytes that are dropped from a word, which joins the bytes around them."""
    if facts["kind"] != BYTES or not facts["drops_bytes"]:
        return set()
    return {bytes([byte]) for byte in np.flatnonzero(facts["external"][:256] == NOT_A_TOKEN)}


def added_texts(
    meta: Mapping[str, Any], facts: Mapping[str, Any], *, with_special: bool
) -> list[bytes]:
    """Return added tokens as they appear in a text, raw and normalized."""
    special = () if with_special else meta["special_tokens"]
    texts = [text for text in meta["added_tokens"] if text not in special]
    forms = set(texts)
    if facts["normalizer"] == NFC:
        forms.update(unicodedata.normalize("NFC", text) for text in texts)
    found = {form.encode("utf-8", "surrogatepass") for form in forms}
    if facts.get("kind") == CHARACTERS:
        found |= {text for text, _, flags in facts["added"] if with_special or not flags & _SPECIAL}
        found -= added_runs(facts).texts
    return sorted(found)


def changing_bits(facts: Mapping[str, Any]) -> NDArray[np.uint32]:
    """Return a bit for every code point that the normalizer of a tokenizer may change."""
    if facts["kind"] != CHARACTERS:
        return unsafe_bits()
    unsafe = np.zeros(_UNICODE, np.uint8)
    unsafe[ord(MARKER)] = 1
    return np.packbits(unsafe, bitorder="little").view(np.uint32)


@lru_cache(maxsize=1)
def unsafe_bits() -> NDArray[np.uint32]:
    """Return a bit for every code point that composing (NFC) may change, move or merge.

    All others stay unchanged next to any character. Code points that this Python does not know
    count as unsafe, so a newer Unicode version in the core changes nothing.
    """
    unsafe = np.ones(_UNICODE, np.uint8)
    for code in range(_UNICODE):
        character = chr(code)
        if unicodedata.category(character) in ("Cn", "Cs"):
            continue
        if unicodedata.combining(character) == 0:
            unsafe[code] = not unicodedata.is_normalized("NFC", character)
    for begin, end in _JAMO:
        unsafe[begin:end] = 1
    unsafe[list(_second_parts())] = 1
    return np.packbits(unsafe, bitorder="little").view(np.uint32)


def _second_parts() -> set[int]:
    """Return the code points that may compose with the character before them."""
    found = set()
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):  # noqa: PLR2004 -- a pair
            found.add(int(parts[1], 16))
    return found
