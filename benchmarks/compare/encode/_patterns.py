r"""Split patterns of rank files, which do not carry their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_NOT_HAN = r"&&[^\p{Han}]"

PATTERNS = {
    "r50k_base": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": (
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_ENDING}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_ENDING}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "kimi": (
        r"[\p{Han}]+"
        rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}{_NOT_HAN}]*[{_LOWER}{_NOT_HAN}]+{_ENDING}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}{_NOT_HAN}]+[{_LOWER}{_NOT_HAN}]*{_ENDING}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}


def pattern_of(path: Path) -> str:
    """Return the pattern of a rank file, known by its name or by its folder's."""
    for name, pattern in PATTERNS.items():
        if path.name.startswith(name) or path.parent.name.startswith(name):
            return pattern
    raise ValueError(f"{path}: no pattern is known for this rank file; hint: add it to PATTERNS")
