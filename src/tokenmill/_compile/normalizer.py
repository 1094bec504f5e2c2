"""Normalizer steps -> the byte string that a compiled model carries and the core runs.

Per step a byte of its kind; behind "strip" a byte for the sides (1 left, 2 right); behind "replace"
and "prepend" their texts, each as four bytes of size, low byte first, and UTF-8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import UnsupportedTokenizer

if TYPE_CHECKING:
    from tokenmill._spec import NormalizerStep

_KINDS = {
    "nfc": 1,
    "nfd": 2,
    "nfkc": 3,
    "nfkd": 4,
    "lowercase": 5,
    "strip_accents": 6,
    "strip": 7,
    "replace": 8,
    "prepend": 9,
}


def serialize_normalizer(steps: tuple[NormalizerStep, ...]) -> bytes:
    r"""Serialize steps in order: `(NormalizerStep("nfc"),)` -> `b"\x01"`."""
    return b"".join(map(_serialize_step, steps))


def _serialize_step(step: NormalizerStep) -> bytes:
    if step.kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise _unsupported(f"no such kind of step, got {step.kind!r}", f"there are {known}")
    return bytes([_KINDS[step.kind]]) + _arguments(step)


def _arguments(step: NormalizerStep) -> bytes:
    if step.kind == "strip":
        return bytes([step.left | step.right << 1])
    if step.kind == "replace":
        if not step.a:
            # The reference puts the replacement around every character; no tokenizer wants that.
            raise _unsupported("nothing to replace, got an empty literal", "drop this step")
        return _text(step.a) + _text(step.b)
    return _text(step.a) if step.kind == "prepend" else b""


def _text(text: str) -> bytes:
    content = text.encode()
    return len(content).to_bytes(4, "little") + content


def _unsupported(problem: str, hint: str) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(problem, where="normalizer", reasons=(problem,), hint=hint)
