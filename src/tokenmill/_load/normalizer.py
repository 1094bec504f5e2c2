"""The "normalizer" section of a tokenizer.json -> NormalizerStep."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError
from tokenmill._load.fields import expect, member, optional, type_of
from tokenmill._spec import NormalizerKind, NormalizerStep

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN: dict[str, NormalizerKind] = {
    "NFC": "nfc",
    "NFD": "nfd",
    "NFKC": "nfkc",
    "NFKD": "nfkd",
    "Lowercase": "lowercase",
    "StripAccents": "strip_accents",
    "Nmt": "nmt",
    "ByteLevel": "byte_level",
}
# The smallest character map: the size of its trie, and one unit.
_LEAST_MAP = 8


def read_normalizer(section: object) -> tuple[list[NormalizerStep], list[str]]:
    """Return the steps and the reasons why some could not be expressed."""
    steps: list[NormalizerStep] = []
    reasons: list[str] = []
    if section is not None:
        _read(section, "normalizer", steps, reasons)
    return steps, reasons


def _read(section: object, where: str, steps: list[NormalizerStep], reasons: list[str]) -> None:
    kind, fields = type_of(section, where)
    if kind == "Sequence":
        for index, child in enumerate(member(fields, "normalizers", list, where)):
            _read(child, f"{where}.normalizers[{index}]", steps, reasons)
    elif kind in _PLAIN:
        steps.append(NormalizerStep(_PLAIN[kind]))
    elif kind == "Strip":
        left = optional(fields, "strip_left", True, where)
        right = optional(fields, "strip_right", True, where)
        steps.append(NormalizerStep("strip", left=left, right=right))
    elif kind == "Prepend":
        steps.append(NormalizerStep("prepend", a=member(fields, "prepend", str, where)))
    elif kind == "Replace":
        _read_replace(fields, where, steps, reasons)
    elif kind == "BertNormalizer":
        steps.extend(_read_bert(fields, where))
    elif kind == "Precompiled":
        steps.append(NormalizerStep("precompiled", a=_read_map(fields, where)))
    else:
        reasons.append(f"normalizer {kind}")


def _read_replace(
    fields: dict[str, Any], where: str, steps: list[NormalizerStep], reasons: list[str]
) -> None:
    content = member(fields, "content", str, where)
    engine, pattern = read_pattern(fields, where)
    if engine == "Regex":
        steps.append(NormalizerStep("replace_regex", a=pattern, b=content))
    elif not pattern:
        reasons.append("normalizer Replace of the empty string")
    else:
        steps.append(NormalizerStep("replace", a=pattern, b=content))


def _read_bert(fields: dict[str, Any], where: str) -> Iterator[NormalizerStep]:
    """Strip accents when the file leaves it open and the text is lowercased."""
    lowers = member(fields, "lowercase", bool, where)
    if member(fields, "clean_text", bool, where):
        yield NormalizerStep("clean")
    if member(fields, "handle_chinese_chars", bool, where):
        yield NormalizerStep("space_ideographs")
    if optional(fields, "strip_accents", lowers, where):
        yield NormalizerStep("nfd")
        yield NormalizerStep("strip_nonspacing")
    if lowers:
        yield NormalizerStep("lowercase")


def _read_map(fields: dict[str, Any], where: str) -> str:
    """Return the map in base64, after checks that the library makes too."""
    text = member(fields, "precompiled_charsmap", str, where)
    place = f"{where}.precompiled_charsmap"
    try:
        blob = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise LoadError(f"{place}: expected base64, got {error}") from error
    size = int.from_bytes(blob[:4], "little") // 4 * 4
    if len(blob) < _LEAST_MAP or not 0 < size <= len(blob) - 4:
        problem = f"{place}: expected a trie and its size, got {len(blob)} bytes for {size} of trie"
        raise LoadError(problem)
    try:
        blob[4 + size :].decode()
    except UnicodeDecodeError as error:
        problem = f"{place}: expected replacements in UTF-8, got {error.reason} in them"
        raise LoadError(problem, offset=4 + size + error.start) from error
    return text


def read_pattern(fields: dict[str, Any], where: str) -> tuple[str, str]:
    """Return ("Regex" or "String", pattern) of a section that has a "pattern"."""
    pattern = member(fields, "pattern", dict, where)
    for engine in ("Regex", "String"):
        if engine in pattern:
            return engine, expect(pattern[engine], str, f"{where}.pattern.{engine}")
    problem = f'{where}.pattern: expected "Regex" or "String", got {sorted(pattern)}'
    raise LoadError(problem)
