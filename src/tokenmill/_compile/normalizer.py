"""Normalizer steps -> the byte string that a compiled model carries and the core runs.

Each step is one byte for its kind, followed by: for "strip" a byte for the sides (1 left, 2 right);
for "replace" and "prepend" their texts; for "precompiled" its map; for "replace_regex" the
replacement and the table of the pattern. A text is four bytes of size, low byte first, and content.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._compile.regex_ast import NotRegular
from tokenmill._compile.split import compile_stage
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
    "clean": 10,
    "space_ideographs": 11,
    "strip_nonspacing": 12,
    "nmt": 13,
    "byte_level": 14,
    "precompiled": 15,
    "replace_regex": 16,
    "squeeze": 17,
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
    match step.kind:
        case "strip":
            return bytes([step.left | step.right << 1])
        case "prepend":
            return _sized(step.a.encode())
        case "replace":
            if not step.a:
                # The reference puts the replacement around every character; no tokenizer needs it.
                raise _unsupported("nothing to replace, got an empty literal", "drop this step")
            return _sized(step.a.encode()) + _sized(step.b.encode())
        case "replace_regex":
            return _sized(step.b.encode()) + _sized(_pattern_table(step.a))
        case "precompiled":
            return _sized(_map_of_characters(step.a))
    return b""


def _pattern_table(pattern: str) -> bytes:
    """Ranges, classes and transitions; the ranges cover all code points, so a begin each is enough.

    Text outside of matches stays as it is: to the compiler, both are words of their own.
    """
    try:
        stage = compile_stage(pattern, "onig", "isolated", invert=False)
    except NotRegular as error:
        problem = f"Replace with the pattern {pattern!r}: {error.reason}"
        raise _unsupported(problem, "it runs through the library 'tokenizers'") from error
    numbers = np.concatenate(
        [
            [len(stage.ranges)],
            stage.ranges[:, [0, 2]].reshape(-1),
            [stage.n_classes, len(stage.next)],
        ]
    )
    return numbers.astype("<u4").tobytes() + stage.next.astype("<u2").tobytes()


def _map_of_characters(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _unsupported("the map of characters is not base64", "fetch the file again") from error


def _sized(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + content


def _unsupported(problem: str, hint: str) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(problem, where="normalizer", reasons=(problem,), hint=hint)
