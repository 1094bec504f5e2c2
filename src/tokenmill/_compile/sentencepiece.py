"""SentencePiece models for the core: blanks spelled as blanks, and the normalizer in bytes.

Where the normalizer writes U+2581 for every blank, the core writes a blank for every U+2581
instead, and the pieces are spelled with blanks: they are then a byte each, and ASCII.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokenmill._compile.blanks import Spelled, spell_model, unknown_marker

if TYPE_CHECKING:
    from tokenmill._spec import AddedToken, SentencePieceNormalizer, TokenizerSpec

_MARKER = "\u2581"
_KIND = 18
_FRONT, _BEHIND, _SQUEEZES, _MARKS, _SPELLS = 1, 2, 4, 8, 16


def spell_sentencepiece(spec: TokenizerSpec) -> Spelled:
    """Spell the markers of a model as blanks, unless a text could make the two differ."""
    if not _is_spelled(spec):
        return Spelled(spec)
    added = tuple(_spell_token(token) for token in spec.added_tokens if " " not in token.content)
    return Spelled(replace(spec, model=spell_model(spec.model, _MARKER), added_tokens=added))


def serialize_sentencepiece(spec: TokenizerSpec) -> bytes:
    """Write the normalizer of a spec, which is one step for the core."""
    rules = spec.sentencepiece
    assert rules is not None  # noqa: S101 -- for the type checker
    kept = b"".join(_sized(text.encode()) for text in rules.protected)
    flags = _flags(rules, is_spelled=_is_spelled(spec))
    return bytes([_KIND, flags]) + _sized(rules.charsmap) + _sized(kept)


def describe_sentencepiece(rules: SentencePieceNormalizer) -> list[str]:
    """Name what a normalizer does, for people."""
    place = "at the end" if rules.whitespace_as_suffix else "in front"
    parts = {
        "character map": bool(rules.charsmap),
        f"{len(rules.protected)} texts kept": bool(rules.protected),
        "extra blanks removed": rules.remove_extra_whitespaces,
        f"a blank {place}": rules.add_dummy_prefix,
        f"{_MARKER} for blanks": rules.escape_whitespaces,
    }
    return [name for name, is_done in parts.items() if is_done]


def _is_spelled(spec: TokenizerSpec) -> bool:
    rules = spec.sentencepiece
    assert rules is not None  # noqa: S101 -- for the type checker
    return rules.escape_whitespaces and not unknown_marker(spec.model, _MARKER)


def _spell_token(token: AddedToken) -> AddedToken:
    return replace(token, content=token.content.replace(_MARKER, " "))


def _flags(rules: SentencePieceNormalizer, *, is_spelled: bool) -> int:
    flags = 0
    if rules.add_dummy_prefix:
        flags |= _BEHIND if rules.whitespace_as_suffix else _FRONT
    if rules.remove_extra_whitespaces:
        flags |= _SQUEEZES
    if rules.escape_whitespaces:
        flags |= _SPELLS if is_spelled else _MARKS
    return flags


def _sized(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + content
