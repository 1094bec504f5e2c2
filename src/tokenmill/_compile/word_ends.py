"""Tokens that end a word, such as "the</w>": how the core spells them, and when it cannot.

The last symbol of a word is a byte or a character followed by the suffix. The core writes the
suffix as one byte that no text has; so the text "</w>" is never taken for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._load.byte_level import UTF8_BYTES

if TYPE_CHECKING:
    from tokenmill._spec import BpeModel

_END = b"\xff"


def spell_ends(model: BpeModel) -> tuple[bytes | None, ...]:
    """Write the suffix of tokens as the core spells it; None if no text can become the token."""
    return tuple(token and _spelled(token, model.suffix) for token in model.tokens)


def _spelled(token: bytes, suffix: bytes) -> bytes | None:
    body = token[: -len(suffix)] if token.endswith(suffix) else token
    if not body or _END in body:
        return None
    return body + _END if len(body) < len(token) else body


def suffix_reasons(model: BpeModel, *, is_split: bool) -> list[str]:
    """List why words with a suffix cannot be exact."""
    reasons = []
    if not is_split:
        reasons.append("BPE over whole texts with an end_of_word_suffix")
    if model.ignore_merges or model.ranks is not None:
        reasons.append("an end_of_word_suffix where merges are ignored")
    ends = [bool(token) and token.endswith(model.suffix) for token in map(_bytes, model.tokens)]
    if not _is_told_apart(model, ends):
        reasons.append(f"text that is merged to tokens that end with {model.suffix!r}")
    if model.symbols == "bytes" and not _has_all_bytes(model):
        reasons.append("bytes without a token, in words with a suffix")
    return reasons


def _bytes(token: bytes | None) -> bytes:
    return token or b""


def _is_told_apart(model: BpeModel, ends: list[bool]) -> bool:
    """Whether tokens with the suffix come from the last symbol of a word, and from nothing else."""
    symbols = model.suffix if model.symbols == "bytes" else model.suffix.decode()
    if len(symbols) == 1:  # it may be a symbol of the text as well
        return False
    for left, right in [] if model.merges is None else model.merges.tolist():
        if ends[left] or ends[right] != _joined(model, left, right).endswith(model.suffix):
            return False
    return True


def _joined(model: BpeModel, left: int, right: int) -> bytes:
    return _bytes(model.tokens[left]) + _bytes(model.tokens[right])


def _has_all_bytes(model: BpeModel) -> bool:
    known = {*model.tokens}
    symbols = [bytes([byte]) for byte in UTF8_BYTES]
    return all(s in known and s + model.suffix in known for s in symbols)
