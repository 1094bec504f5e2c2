"""Normalizer steps through `tokenizers`: the answers that core/normalize must give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizers import normalizers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._spec import NormalizerStep

_BUILDERS: dict[str, Callable[[NormalizerStep], normalizers.Normalizer]] = {
    "nfc": lambda _: normalizers.NFC(),
    "nfd": lambda _: normalizers.NFD(),
    "nfkc": lambda _: normalizers.NFKC(),
    "nfkd": lambda _: normalizers.NFKD(),
    "lowercase": lambda _: normalizers.Lowercase(),
    "strip_accents": lambda _: normalizers.StripAccents(),
    "strip": lambda step: normalizers.Strip(left=step.left, right=step.right),
    "replace": lambda step: normalizers.Replace(step.a, step.b),
    "prepend": lambda step: normalizers.Prepend(step.a),
}


def build_normalizer(steps: tuple[NormalizerStep, ...]) -> normalizers.Normalizer:
    """The same steps as one normalizer of the reference."""
    return normalizers.Sequence([_BUILDERS[step.kind](step) for step in steps])


def normalize(steps: tuple[NormalizerStep, ...], text: str) -> str:
    """What the reference makes of `text`."""
    result: str = build_normalizer(steps).normalize_str(text)
    return result
