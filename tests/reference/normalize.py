"""Normalizer steps through `tokenizers`: the answers that core/normalize must give."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from tokenizers import Regex, normalizers

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
    "clean": lambda _: _bert(clean_text=True),
    "space_ideographs": lambda _: _bert(handle_chinese_chars=True),
    # Decomposed text is decomposed already, so the part that BERT does first changes nothing.
    "strip_nonspacing": lambda _: _bert(strip_accents=True),
    "nmt": lambda _: normalizers.Nmt(),
    "byte_level": lambda _: normalizers.ByteLevel(),
    "precompiled": lambda step: normalizers.Precompiled(base64.b64decode(step.a)),
    "replace_regex": lambda step: normalizers.Replace(Regex(step.a), step.b),
}


def _bert(**options: bool) -> normalizers.Normalizer:
    """BERT's normalizer with all but these parts switched off."""
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return normalizers.BertNormalizer(**{name: options.get(name, False) for name in names})


def build_normalizer(steps: tuple[NormalizerStep, ...]) -> normalizers.Normalizer:
    """The same steps as one normalizer of the reference."""
    return normalizers.Sequence([_BUILDERS[step.kind](step) for step in steps])


def normalize(steps: tuple[NormalizerStep, ...], text: str) -> str:
    """What the reference makes of `text`."""
    result: str = build_normalizer(steps).normalize_str(text)
    return result
