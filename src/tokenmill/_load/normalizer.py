"""The "normalizer" section of a tokenizer.json -> NormalizerStep."""

from __future__ import annotations

from typing import Any

from tokenmill._errors import LoadError
from tokenmill._load.fields import expect, member, optional, type_of
from tokenmill._spec import NormalizerKind, NormalizerStep

_PLAIN: dict[str, NormalizerKind] = {
    "NFC": "nfc",
    "NFD": "nfd",
    "NFKC": "nfkc",
    "NFKD": "nfkd",
    "Lowercase": "lowercase",
    "StripAccents": "strip_accents",
}


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
    else:
        reasons.append(f"normalizer {kind}")


def _read_replace(
    fields: dict[str, Any], where: str, steps: list[NormalizerStep], reasons: list[str]
) -> None:
    content = member(fields, "content", str, where)
    engine, pattern = read_pattern(fields, where)
    if engine == "Regex":
        reasons.append(f"normalizer Replace with a regular expression: {pattern}")
    elif not pattern:
        reasons.append("normalizer Replace of the empty string")
    else:
        steps.append(NormalizerStep("replace", a=pattern, b=content))


def read_pattern(fields: dict[str, Any], where: str) -> tuple[str, str]:
    """Return ("Regex" or "String", pattern) of a section that has a "pattern"."""
    pattern = member(fields, "pattern", dict, where)
    for engine in ("Regex", "String"):
        if engine in pattern:
            return engine, expect(pattern[engine], str, f"{where}.pattern.{engine}")
    problem = f'{where}.pattern: expected "Regex" or "String", got {sorted(pattern)}'
    raise LoadError(problem)
