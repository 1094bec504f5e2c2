"""Probe the reference engines for their code-point sets and write them as data of the package.

Run as `python tools/gen_unicode.py` with `tokenizers` and `tiktoken` installed. The sets are
asked of the engines themselves, because each carries its own version of Unicode.
"""

from __future__ import annotations

import json
import sys
import zlib
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Ranges = tuple[tuple[int, int], ...]

GENERATED = Path(__file__).resolve().parent.parent / "src/tokenmill/_unicode/generated"

_CATEGORIES = (
    *("L", "LC", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No"),
    *("P", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So"),
    *("Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Co", "Cn"),
)
_SCRIPTS = (
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Latin", "Cyrillic", "Greek"),
    *("Arabic", "Hebrew", "Syriac", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Mongolian"),
    *("Devanagari", "Bengali", "Gujarati", "Gurmukhi", "Kannada", "Malayalam", "Oriya"),
    *("Sinhala", "Tamil", "Telugu", "Georgian", "Armenian", "Ethiopic", "Common", "Inherited"),
)
_PROPERTIES = ("Alphabetic", "Uppercase", "Lowercase", "White_Space", "Emoji", "Ideographic")
_POSIX = (
    *("alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct"),
    *("space", "upper", "xdigit", "word"),
)
_ESCAPES = {"Space": r"\s", "Word": r"\w", "Digit": r"\d", "HexDigit": r"\h", "Dot": "."}
# Oniguruma answers a bare \w from another table than one in brackets: U+00B2 is in the first only.
_IN_BRACKETS = {"WordInClass": r"[\w]"}

# Every regex name, and the pattern of one character that asks for it.
PATTERNS: dict[str, str] = {
    **{name: rf"\p{{{name}}}" for name in [*_CATEGORIES, *_SCRIPTS, *_PROPERTIES]},
    **{f"[:{name}:]": f"[[:{name}:]]" for name in _POSIX},
    **_ESCAPES,
    **_IN_BRACKETS,
}

ASCII_LETTERS = "abcdefghijklmnopqrstuvwxyz"

ALL_CODE_POINTS = np.array(
    [*range(0xD800), *range(0xE000, 0x110000)], dtype=np.uint32
)  # surrogates are not characters
ALL_TEXT = ALL_CODE_POINTS.tobytes().decode("utf-32-le")


def main() -> None:
    """Write the sets, their index and the versions they were probed from."""
    engines = {"onig": probe_regexes(match_onig), "fancy": probe_regexes(match_fancy)}
    engines["hf"] = {name: probe() for name, probe in PREDICATES.items()}
    engines["hf"] |= probe_scripts()
    unique = sorted({ranges for sets in engines.values() for ranges in sets.values()})
    number = {ranges: position for position, ranges in enumerate(unique)}
    index = {
        "versions": {name: version(name) for name in ("tiktoken", "tokenizers")},
        "sets": {
            engine: {name: number[sets[name]] for name in sorted(sets)}
            for engine, sets in engines.items()
        },
        "case_variants": {
            "onig": probe_case_variants(match_onig),
            "fancy": probe_case_variants(match_fancy),
        },
    }
    GENERATED.mkdir(parents=True, exist_ok=True)
    blob = zlib.compress(b"".join(map(pack_ranges, unique)), 9)
    (GENERATED / "sets.bin").write_bytes(blob)
    (GENERATED / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="ascii")
    sys.stdout.write(f"{len(unique)} sets, {len(blob)} bytes\n")


def probe_regexes(match: Callable[[str], Ranges]) -> dict[str, Ranges]:
    """All names of `PATTERNS` that the engine accepts."""
    found = {}
    for name, pattern in PATTERNS.items():
        try:
            found[name] = match(pattern)
        except ValueError:
            sys.stdout.write(f"{match.__name__}: rejects {pattern}\n")
    return found


def probe_case_variants(match: Callable[[str], Ranges]) -> dict[str, list[int]]:
    r"""Code points that match `(?i:x)`: {"k": [75, 107, 8490], ...}."""
    return {
        letter: [point for begin, end in match(f"(?i:{letter})") for point in range(begin, end)]
        for letter in ASCII_LETTERS
    }


def match_onig(pattern: str) -> Ranges:
    """Ask the regex engine of `tokenizers` which characters match; removed ones do."""
    try:
        regex = Regex(pattern)
    except Exception as error:  # the binding raises plain Exception for a bad pattern
        raise ValueError(pattern) from error
    rest = normalizers.Replace(regex, "").normalize_str(ALL_TEXT)
    return ranges_of(np.setdiff1d(ALL_CODE_POINTS, points_of(rest), assume_unique=True))


def match_fancy(pattern: str) -> Ranges:
    """Ask the regex engine of `tiktoken` which characters match; it drops all others."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return ranges_of(points_of(bytes(encoding.encode_ordinary(ALL_TEXT)).decode()))


def probe_isolated(splitter: pre_tokenizers.PreTokenizer) -> Ranges:
    """Characters that the splitter makes pieces of their own, between letters."""
    pieces = splitter.pre_tokenize_str("aa".join(ALL_TEXT))
    return ranges_of(points_of(piece for piece, _ in pieces if len(piece) == 1))


def probe_dropped(splitter: pre_tokenizers.PreTokenizer) -> Ranges:
    """Characters that the splitter drops."""
    kept = points_of(piece for piece, _ in splitter.pre_tokenize_str("aa".join(ALL_TEXT)))
    return ranges_of(np.setdiff1d(ALL_CODE_POINTS, kept))


def probe_single_word() -> Ranges:
    """Characters before which an added token with `single_word` is not found."""
    layout = "[x]{} "
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, "?"))
    tokenizer.add_special_tokens([AddedToken("[x]", single_word=True, normalized=False)])
    width = len(layout.format("a"))
    found = np.zeros(len(ALL_TEXT), dtype=bool)
    batch = 1 << 14
    for first in range(0, len(ALL_TEXT), batch):
        text = "".join(map(layout.format, ALL_TEXT[first : first + batch]))
        encoding = tokenizer.encode(text, add_special_tokens=False)
        for identifier, (begin, _) in zip(encoding.ids, encoding.offsets, strict=True):
            if identifier == 1:
                found[first + begin // width] = True
    return ranges_of(ALL_CODE_POINTS[~found])


def probe_cleaned(replacement: str) -> Ranges:
    """Characters that the text cleaning of BERT turns into `replacement`."""
    clean = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False
    )
    pieces = clean.normalize_str("ab".join(ALL_TEXT)).split("ab")
    return ranges_of(
        point for point, piece in zip(ALL_CODE_POINTS, pieces, strict=True) if piece == replacement
    )


def probe_spaced() -> Ranges:
    """Characters around which BERT's normalizer puts spaces, as for Chinese ones."""
    spread = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False
    )
    pieces = spread.normalize_str("ab".join(ALL_TEXT)).split("ab")
    return ranges_of(
        point for point, piece in zip(ALL_CODE_POINTS, pieces, strict=True) if len(piece) > 1
    )


def probe_scripts() -> dict[str, Ranges]:
    """Ask which characters UnicodeScripts keeps together; those of Script0 go with any."""
    goes_with_any = joined_to("a", ALL_TEXT) & joined_to("\u0431", ALL_TEXT)
    sets = [ranges_of(ALL_CODE_POINTS[goes_with_any])]
    others = ALL_CODE_POINTS[~goes_with_any].tobytes().decode("utf-32-le")
    cuts = [begin for _, (begin, _) in pre_tokenizers.UnicodeScripts().pre_tokenize_str(others)]
    runs = [others[i:j] for i, j in pairwise([*cuts, len(others)])]
    while runs:
        alike = joined_to(runs[0][0], [run[0] for run in runs])
        members = "".join(run for run, is_alike in zip(runs, alike, strict=True) if is_alike)
        sets.append(ranges_of(points_of(members)))
        runs = [run for run, is_alike in zip(runs, alike, strict=True) if not is_alike]
    return {f"Script{number}": ranges for number, ranges in enumerate(sets)}


def joined_to(first: str, characters: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For each character whether UnicodeScripts puts it into one piece with `first`."""
    text = "".join(first + character for character in characters)
    begins = [begin for _, (begin, _) in pre_tokenizers.UnicodeScripts().pre_tokenize_str(text)]
    is_cut = np.zeros(len(text), dtype=bool)
    is_cut[begins] = True
    return ~is_cut[1::2]


PREDICATES: dict[str, Callable[[], Ranges]] = {
    "Numeric": lambda: probe_isolated(pre_tokenizers.Digits(individual_digits=True)),
    "Punctuation": lambda: probe_isolated(pre_tokenizers.Punctuation("isolated")),
    "Whitespace": lambda: probe_dropped(pre_tokenizers.WhitespaceSplit()),
    "Word": probe_single_word,
    "CleanRemoved": lambda: probe_cleaned(""),
    "CleanSpace": lambda: probe_cleaned(" "),
    "Spaced": probe_spaced,
}


def points_of(text: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Sorted code points of a string, or of its pieces."""
    return np.unique(np.frombuffer("".join(text).encode("utf-32-le"), dtype=np.uint32))


def ranges_of(points: Iterable[int]) -> Ranges:
    """Sorted code points -> half-open ranges: [1, 2, 5] -> ((1, 3), (5, 6))."""
    ranges: list[tuple[int, int]] = []
    for point in map(int, points):
        if ranges and ranges[-1][1] == point:
            ranges[-1] = (ranges[-1][0], point + 1)
        else:
            ranges.append((point, point + 1))
    return tuple(ranges)


def pack_ranges(ranges: Ranges) -> bytes:
    """Write how many ranges, then gap and length of each, as varints, low bits first."""
    numbers = [len(ranges)]
    previous = 0
    for begin, end in ranges:
        numbers += [begin - previous, end - begin]
        previous = end
    packed = bytearray()
    for number in numbers:
        rest = number
        while rest >> 7:
            packed.append(rest & 0x7F | 0x80)
            rest >>= 7
        packed.append(rest)
    return bytes(packed)


if __name__ == "__main__":
    main()
