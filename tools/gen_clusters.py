"""Probe where the reference ends grapheme clusters and write the classes as a C++ header.

Run as `python tools/gen_clusters.py` with `tokenizers` installed. The reference shows its clusters
in one place only: its Precompiled normalizer takes a cluster of fewer than six bytes as a whole,
and any other one character by character. So a map that turns whatever is not ASCII into "Y" gives
one "Y" for a short cluster and one per character for a long one, and each question below is a text
whose count of "Y" is the answer. Differences that no text can show (pairs of regional indicators,
which are too long either way) do not matter and are left out.
"""

from __future__ import annotations

import struct
import sys
from importlib.metadata import version
from pathlib import Path

from gen_normalization import ENDING, INTRODUCTION, POINTS, render_stages
from tokenizers import normalizers

HEADER = Path(__file__).resolve().parent.parent / "core/unicode/generated/cluster_tables.h"

# Classes, as in core/unicode/clusters.h.
(OTHER, CONTROL, RETURN, NEWLINE, EXTEND, CONJOINS, LINKER, JOINER, SPACING, PREPEND, LEAD, VOWEL,
 TAIL, OPEN_SYLLABLE, CLOSED_SYLLABLE, PICTOGRAPH, CONSONANT) = range(17)  # fmt: skip

MAX_ASCII = 0x7F
MAX_BASIC = 0xFFFF
DELETE = 0x7F
MARK = "\u0300"
ZWJ = "\u200d"
KA, VIRAMA = "\u0915", "\u094d"
Points = set[int]


def main() -> None:
    """Probe, check that the answers fit together, and write the header."""
    classes = probe_classes()
    values = [classes.get(point, OTHER) for point in range(0x110000)]
    introduction = INTRODUCTION.format(tool=Path(__file__).name, version=version("tokenizers"))
    text = "\n".join([introduction, *render_stages("Cluster", values, "uint8_t"), ENDING])
    HEADER.write_text(text, encoding="ascii")
    sys.stdout.write(f"{HEADER.name}: {HEADER.stat().st_size} bytes\n")


def probe_classes() -> dict[int, int]:
    """Class of every code point that has one."""
    wide = {point for point in POINTS if point > MAX_ASCII}
    joining = probe_melting(wide)
    prepend = ask(wide, "{c}a", 1)
    plain = wide - joining - prepend
    pictographs = ask(plain, "\u00a9" + ZWJ + "{c}", 3)
    consonants = ask(plain, "{c}" + VIRAMA + KA + MARK, 4)
    classes = dict.fromkeys(ask(plain, "{c}" + MARK + "\u0301", 2), CONTROL)
    classes |= dict.fromkeys(pictographs, PICTOGRAPH) | dict.fromkeys(consonants, CONSONANT)
    classes |= probe_hangul(plain) | probe_joining(joining) | dict.fromkeys(prepend, PREPEND)
    check_followers(pictographs, consonants)
    classes |= dict.fromkeys([*range(0x20), DELETE], CONTROL)
    return classes | {ord("\r"): RETURN, ord("\n"): NEWLINE}


def probe_hangul(plain: Points) -> dict[int, int]:
    """Jamo and syllables, by what they take and what takes them."""
    takes_lead = ask(plain, "{c}\u1100" + MARK, 3)
    takes_vowel = ask(plain, "{c}\u1161" + MARK, 3)
    takes_tail = ask(plain, "{c}\u11a8" + MARK, 3)
    behind_open = ask(plain, "\u0600\uac00{c}", 3)
    vowels = behind_open & takes_vowel
    tails = behind_open - vowels
    return {
        **dict.fromkeys(takes_lead, LEAD),
        **dict.fromkeys(vowels, VOWEL),
        **dict.fromkeys(tails, TAIL),
        **dict.fromkeys(takes_vowel - takes_lead - vowels, OPEN_SYLLABLE),
        **dict.fromkeys(takes_tail - takes_vowel - tails, CLOSED_SYLLABLE),
    }


def probe_joining(joining: Points) -> dict[int, int]:
    """Characters that join whatever is before them."""
    extend = ask(joining, "\u00a9{c}" + ZWJ + "\u00a9" + MARK, 5)
    linkers = ask(joining, KA + "{c}" + KA + MARK, 4)
    after = ask(joining, KA + VIRAMA + "{c}" + KA + MARK, 5) - linkers
    before = ask(joining, KA + "{c}" + VIRAMA + KA + MARK, 5) - linkers
    if after != before:
        raise ValueError("probe: conjuncts depend on the order of marks and linker")
    if not linkers | after <= extend | {ord(ZWJ)}:
        raise ValueError("probe: a spacing mark takes part in a conjunct")
    return {
        **dict.fromkeys(joining, SPACING),
        **dict.fromkeys(extend, EXTEND),
        **dict.fromkeys(after, CONJOINS),
        **dict.fromkeys(linkers, LINKER),
        ord(ZWJ): JOINER,
    }


def check_followers(pictographs: Points, consonants: Points) -> None:
    """Make sure that what takes a pictograph or consonant is one itself."""
    taking = ask(pictographs, "{c}" + ZWJ + "\u00a9" + MARK, 4)
    short = {point for point in consonants if point <= MAX_BASIC}
    taken = ask(short, KA + VIRAMA + "{c}" + MARK, 4)
    if taking != pictographs or taken != short:
        raise ValueError("probe: classes of what takes and what is taken differ")


def probe_melting(points: Points) -> Points:
    """Characters that melt into a letter before them."""
    ordered = sorted(points)
    text = "\n".join("a" + chr(point) for point in ordered)
    answers = charsmap({b"a": "Y"}).normalize_str(text).split("\n")
    return {p for p, answer in zip(ordered, answers, strict=True) if answer == "Y"}


def ask(points: Points, layout: str, count: int) -> Points:
    """Code points for which the layout becomes `count` times "Y", and nothing else."""
    ordered = sorted(points)
    text = "\n".join(layout.format(c=chr(point)) for point in ordered)
    answers = EVERYTHING.normalize_str(text).split("\n")
    if len(answers) != len(ordered):
        raise ValueError("probe: a separator was lost")
    return {p for p, answer in zip(ordered, answers, strict=True) if answer == "Y" * count}


def charsmap(mapping: dict[bytes, str]) -> normalizers.Normalizer:
    """Build a normalizer of one-byte keys: a root, and a block of 256 units per key."""
    units = [0] * (256 * (len(mapping) + 2))
    units[0] = 256 << 10
    texts = b""
    for number, (key, value) in enumerate(mapping.items(), start=2):
        place = 256 ^ key[0]
        units[place] = (place ^ 256 * number) << 10 | 1 << 8 | key[0]
        units[256 * number] = 1 << 31 | len(texts)
        texts += value.encode() + b"\0"
    blob = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + texts
    return normalizers.Precompiled(blob)


EVERYTHING = charsmap({bytes([lead]): "Y" for lead in range(0xC2, 0xF5)})


if __name__ == "__main__":
    main()
