"""Random patterns of a split, in the syntax of Oniguruma."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


def random_pattern(choose: random.Random, depth: int = 0) -> str:
    """Write a pattern of a few atoms, some with quantifiers."""
    parts = []
    for _ in range(choose.choice([1, 1, 2, 2, 3])):
        # Mostly what a table can hold, or hardly any pattern would be compiled.
        is_hard = choose.random() < 0.04
        atom = choose.choice(_HARD_ATOMS if is_hard else _ATOMS)
        if depth < 3 and choose.random() < 0.25:
            opening = choose.choice(_HARD_OPENINGS if is_hard else _OPENINGS)
            atom = opening + random_pattern(choose, depth + 1) + ")"
        elif choose.random() < 0.25:
            items = "".join(choose.choices(_ITEMS, k=choose.randint(1, 3)))
            items += choose.choice(_HARD_ITEMS) if is_hard else ""
            atom = f"[{choose.choice(['', '^'])}{items}]"
        parts.append(atom + choose.choice(_HARD_QUANTIFIERS if is_hard else _QUANTIFIERS))
    if choose.random() < 0.3:
        parts.insert(choose.randrange(len(parts) + 1), "|")
    if choose.random() < 0.03:
        parts.append(choose.choice([")", "[", "(", "*", "\\", "{", "[a", "]"]))
    return "".join(parts)


_ATOMS = [
    "a", "b", "B", "'s", ".", r"\s", r"\S", r"\d", r"\w", r"\W", r"\h", r"\n", r"\p{L}", r"\P{N}",
    r"\p{^Lu}", r"\p{hf:Punctuation}", r"\p{Han}", r"\p{Greek}", r"\x41", r"\x{1F600}",
    r"\u00e9", r"\.", "\u4e00", "\U0001f600", r"\-", "-", "s", "k", "ff",
]  # fmt: skip
_HARD_ATOMS = [
    "$", r"\p{ script }", r"\xe9", r"\z", r"\b", r"\1", r"\p{alpha}", "(?!\\S)", "(?=a|$)",
    "(?!ab)",
    "^", r"\A", "&&", "ss", r"\p{Letter}", r"\p{hf:Script1}",
]  # fmt: skip
_ITEMS = [
    "a", "z", "a-z", "A-C", r"\s", r"\p{L}", r"\w", r"\d", "^", "[^b]", "[:alpha:]", "[:^digit:]",
    r"\]", r"\n", "\u4e00-\u9fa5", r"\x30-\x39", "\u00e9", "S",
]  # fmt: skip
_HARD_ITEMS = ["-", "&&", "[:nope:]", "z-a", r"\b", "]", "-a", "&&[a]", "a-", r"\w-z"]
_OPENINGS = ["(", "(?:", "(?:", "(?i:", "(?-i:", "(?>", "(?:"]
_HARD_OPENINGS = ["(?=", "(?!", "(?<=", "(?#", "(?<n>"]
_QUANTIFIERS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}", "{2,}"]
_HARD_QUANTIFIERS = ["*+", "++", "?+", "{1,3}?", "{2}?", "{1,3}+", "{,3}", "{3,1}", "{2000}", "**"]
