"""Checks that the kernels can run a tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._cuda.added_texts import added_texts
from tokenmill._cuda.char_tables import blank_steps
from tokenmill._cuda.reasons import device_error
from tokenmill._cuda.tables import BYTES, CHARACTERS, LOOKED_UP, UNIGRAM, exact_tokens
from tokenmill._cuda.word_tables import supports_unigram, supports_word_piece

if TYPE_CHECKING:
    from collections.abc import Mapping

IDENTITY, NFC = b"", b"\x01"  # serialized normalizers that the kernels support
_ADJACENT = 4  # split::Family: words start where no token joins two neighbours
_FAMILIES = (0, 1, 2, 3)  # split::Family: 0 has no rule, automata find the words


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
    if steps.in_front and any(token.text[:1] == b" " for token in added_texts(facts)):
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
    return family != 0 or all(stage["stage_keeps_all"] for stage in facts["stages"])
