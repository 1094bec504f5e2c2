"""Probe the reference's normalizers and write their tables as a C++ header.

Run as `python tools/gen_normalization.py` with `tokenizers` installed. No Unicode data file is
read: decompositions, compositions, combining classes and cases are what the reference answers,
so characters that its version of Unicode does not know stay untouched here too.
"""

from __future__ import annotations

import itertools
import sys
from importlib.metadata import version
from pathlib import Path

from tokenizers import normalizers

HEADER = Path(__file__).resolve().parent.parent / "core/unicode/generated/normalization_tables.h"
POINTS = [*range(1, 0xD800), *range(0xE000, 0x110000)]  # U+0000 separates, and never changes
SYLLABLES = range(0xAC00, 0xD7A4)

# Bits of a character, as in core/unicode/unicode.h.
(NOT_NFC, NOT_NFD, NOT_NFKC, NOT_NFKD, LOWERS, MARK, COMBINES, MAYBE, TAKES, NONSPACING, UNCLEAN,
 CLEAN_SPACE, SPACED, WHITE) = (1 << bit for bit in range(14))  # fmt: skip

# Table, flag, and what the character becomes if the flag is set; None: anything.
REMOVALS = (
    ("strip_nonspacing", NONSPACING, ""),
    ("clean", UNCLEAN, ""),
    ("clean", CLEAN_SPACE, " "),
    ("space_ideographs", SPACED, None),
    ("strip", WHITE, None),
)
PAIR_SLOTS = 2048
MAX_BYTE = 0xFF
MAX_ASCII = 0x7F
MAX_COLUMNS = 100


def main() -> None:
    """Probe, check what the core computes instead of looking up, and write the header."""
    tables = probe_tables()
    check_hangul(tables["nfd"])
    HEADER.parent.mkdir(parents=True, exist_ok=True)
    HEADER.write_text(render(tables), encoding="ascii")
    sys.stdout.write(f"{HEADER.name}: {HEADER.stat().st_size} bytes\n")


def probe_tables() -> dict[str, dict[int, str]]:
    """Ask each normalizer what it turns every code point into, if that differs."""
    kinds = {
        "nfc": normalizers.NFC(),
        "nfd": normalizers.NFD(),
        "nfkc": normalizers.NFKC(),
        "nfkd": normalizers.NFKD(),
        "lowercase": normalizers.Lowercase(),
        "strip_accents": normalizers.StripAccents(),
        "strip": normalizers.Strip(),
        "strip_nonspacing": bert(strip_accents=True),
        "clean": bert(clean_text=True),
        "space_ideographs": bert(handle_chinese_chars=True),
    }
    alone = [chr(point) for point in POINTS]
    tables = {}
    for name, normalizer in kinds.items():
        answers = (
            [normalizer.normalize_str(char) for char in alone]
            if name in ("strip", "clean")  # this one strips, that one removes what separates
            else (normalize_all(normalizer, alone))
        )
        tables[name] = {
            point: answer
            for point, char, answer in zip(POINTS, alone, answers, strict=True)
            if answer != char
        }
    return tables


def bert(**options: bool) -> normalizers.Normalizer:
    """Build the normalizer of BERT with only these parts turned on."""
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return normalizers.BertNormalizer(**{name: options.get(name, False) for name in names})


def normalize_all(normalizer: normalizers.Normalizer, texts: list[str]) -> list[str]:
    """Normalize many texts in one call; U+0000 between them keeps them apart."""
    answers: list[str] = normalizer.normalize_str("\0".join(texts)).split("\0")
    if len(answers) != len(texts):
        message = f"probe: {len(texts)} texts gave {len(answers)} answers"
        raise ValueError(message)
    return answers


def probe_classes(nfd: dict[int, str]) -> dict[int, int]:
    """Rank of the combining class of every character that has one, from 1 up.

    Only the order of classes matters, and the reference shows it: it swaps two marks if and only
    if the class of the second is smaller and not zero.
    """
    plain = [point for point in POINTS if point not in nfd]
    low, high = "\u0334", "\u0345"  # of the smallest class and of the greatest
    after = swapped([chr(point) + low for point in plain])
    before = swapped([high + chr(point) for point in plain])
    marks = [point for point, a, b in zip(plain, after, before, strict=True) if a or b]
    pairs = [chr(first) + chr(second) for first, second in itertools.product(marks, marks)]
    flags = swapped(pairs)
    smaller = [sum(flags[row * len(marks) : (row + 1) * len(marks)]) for row in range(len(marks))]
    ranks = {count: rank for rank, count in enumerate(sorted(set(smaller)), start=1)}
    return {mark: ranks[count] for mark, count in zip(marks, smaller, strict=True)}


def swapped(pairs: list[str]) -> list[bool]:
    """Whether canonical ordering swaps the two characters of each pair."""
    answers = normalize_all(normalizers.NFD(), pairs)
    return [answer == pair[::-1] != pair for pair, answer in zip(pairs, answers, strict=True)]


def probe_pairs(nfd: dict[int, str]) -> dict[tuple[int, int], int]:
    """Two characters that compose -> the composite; Hangul is left to arithmetic."""
    points = [p for p, parts in nfd.items() if len(parts) > 1 and p not in SYLLABLES]
    whole = normalize_all(normalizers.NFC(), [nfd[point] for point in points])
    fronts = normalize_all(normalizers.NFC(), [nfd[point][:-1] for point in points])
    pairs = {}
    for point, again, front in zip(points, whole, fronts, strict=True):
        if again == chr(point):
            if len(front) != 1:
                message = f"probe: U+{point:04X} composes from more than two characters"
                raise ValueError(message)
            pairs[ord(front), ord(nfd[point][-1])] = point
    return pairs


def check_hangul(nfd: dict[int, str]) -> None:
    """Make sure that the reference agrees with arithmetic on every syllable."""
    for index, point in enumerate(SYLLABLES):
        lead, rest = divmod(index, 588)
        vowel, tail = divmod(rest, 28)
        parts = chr(0x1100 + lead) + chr(0x1161 + vowel) + (chr(0x11A7 + tail) if tail else "")
        if nfd[point] != parts:
            message = f"probe: U+{point:04X} does not decompose by arithmetic"
            raise ValueError(message)


def flags_of(
    tables: dict[str, dict[int, str]],
    classes: dict[int, int],
    pairs: dict[tuple[int, int], int],
) -> list[int]:
    """Collect the flags of every code point."""
    flags = [0] * 0x110000
    changes = {
        "nfc": NOT_NFC, "nfd": NOT_NFD, "nfkc": NOT_NFKC, "nfkd": NOT_NFKD, "lowercase": LOWERS,
        "strip_accents": MARK,
    }  # fmt: skip
    for name, bit in changes.items():
        for point in tables[name]:
            flags[point] |= bit
    for name, bit, answer in REMOVALS:
        for point, text in tables[name].items():
            flags[point] |= bit if answer is None or text == answer else 0
    for point in classes:
        flags[point] |= COMBINES | TAKES
    vowels_and_tails = [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]
    for point in [*(second for _, second in pairs), *vowels_and_tails]:
        flags[point] |= MAYBE
    if bert(clean_text=True).normalize_str("\0") == "":  # not among POINTS
        flags[0] |= UNCLEAN
    leads = range(0x1100, 0x1113)
    for point in [*(first for first, _ in pairs), *leads, *tables["nfd"]]:
        flags[point] |= TAKES
    return flags


def lead_flags_of(flags: list[int]) -> list[int]:
    """Unite the flags of all characters that share the first two bytes of their UTF-8.

    Row 0 is empty and stands for every first byte below 0xC0; row 1 is 0xC0.
    """
    table = [0] * (65 * 64)
    for point, bits in enumerate(flags):
        if bits and point > MAX_ASCII:
            lead, second = chr(point).encode()[:2]
            table[(lead - 0xBF) * 64 + (second & 0x3F)] |= bits & MAX_BYTE
    return table


def two_stage(values: list[int]) -> tuple[list[int], list[int]]:
    """Pages of 64 values: the number of each page's block, and the distinct blocks."""
    blocks: dict[tuple[int, ...], int] = {}
    pages = []
    for begin in range(0, len(values), 64):
        block = tuple(values[begin : begin + 64])
        pages.append(blocks.setdefault(block, len(blocks)))
    while len(pages) > 1 and pages[-1] == pages[-2]:  # the rest looks like the last page
        pages.pop()
    return pages, [value for block in blocks for value in block]


def render(tables: dict[str, dict[int, str]]) -> str:
    """Write the text of the header."""
    classes = probe_classes(tables["nfd"])
    pairs = probe_pairs(tables["nfd"])
    flags = flags_of(tables, classes, pairs)
    pool: list[int] = [0]
    parts = [
        *render_stages("Flag", flags, "uint16_t"),
        render_array("kLeadFlags", lead_flags_of(flags), "uint8_t"),
        *render_stages("Class", [classes.get(point, 0) for point in range(0x110000)], "uint8_t"),
        *render_sequences("Canonical", tables["nfd"], pool),
        *render_sequences("Compatible", tables["nfkd"], pool),
        *render_sequences("Lower", tables["lowercase"], pool),
        render_array("kSequences", pool, "char32_t"),
        *render_pairs(pairs),
    ]
    return "\n".join(
        [
            INTRODUCTION.format(tool=Path(__file__).name, version=version("tokenizers")),
            *parts,
            ENDING,
        ]
    )


def render_stages(name: str, values: list[int], kind: str) -> list[str]:
    """Two arrays, `k<name>Pages` and `k<name>Blocks`."""
    pages, blocks = two_stage(values)
    page_kind = "uint8_t" if max(pages) <= MAX_BYTE else "uint16_t"
    return [
        render_array(f"k{name}Pages", pages, page_kind),
        render_array(f"k{name}Blocks", blocks, kind),
    ]


def render_sequences(name: str, table: dict[int, str], pool: list[int]) -> list[str]:
    """Per code point the position in `pool` of a length and as many characters; 0 for none."""
    places: dict[str, int] = {}
    values = [0] * 0x110000
    for point, text in table.items():
        if point in SYLLABLES:
            continue
        if text not in places:
            places[text] = len(pool)
            pool += [len(text), *map(ord, text)]
        values[point] = places[text]
    return render_stages(name, values, "uint16_t")


def render_pairs(pairs: dict[tuple[int, int], int]) -> list[str]:
    """Fill a hash table with open addressing, as `compose` in core/unicode reads it."""
    slots = [(0, 0, 0)] * PAIR_SLOTS
    for (first, second), composite in sorted(pairs.items()):
        slot = pair_slot(first, second)
        while slots[slot][2]:
            slot = (slot + 1) % PAIR_SLOTS
        slots[slot] = (first, second, composite)
    return [
        render_array("kPairFirst", [slot[0] for slot in slots], "char32_t"),
        render_array("kPairSecond", [slot[1] for slot in slots], "char32_t"),
        render_array("kPairComposite", [slot[2] for slot in slots], "char32_t"),
    ]


def pair_slot(first: int, second: int) -> int:
    """Top 11 bits of a 32-bit product sum."""
    return ((first * 0x9E3779B1 + second * 0x85EBCA6B) & 0xFFFFFFFF) >> 21


def render_array(name: str, values: list[int], kind: str) -> str:
    """One `inline constexpr` array, as many numbers per line as fit."""
    lines = []
    line = "   "
    for value in values:
        item = f" {value},"
        if len(line) + len(item) > MAX_COLUMNS:
            lines.append(line)
            line = "   "
        line += item
    lines.append(line)
    prefix = "std::" if kind.startswith("u") else ""
    head = f"inline constexpr {prefix}{kind} {name}[{len(values)}] = {{"
    return "\n".join([head, *lines, "};"])


INTRODUCTION = """\
// Written by tools/{tool} from probes of tokenizers {version}; do not edit.
#pragma once

#include <cstdint>

// clang-format off
namespace tokenmill::unicode::tables {{
"""

ENDING = """
}  // namespace tokenmill::unicode::tables
// clang-format on
"""


if __name__ == "__main__":
    main()
