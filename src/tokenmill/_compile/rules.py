"""Native rules: the splits that the core finds with masks instead of a table.

A rule is recognised by what its automaton does. A few probe texts suggest the parameters, then
the automaton of that rule is built and compared; only equality counts, the probes merely choose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokenmill._compile.char_sets import complement, intersection, union
from tokenmill._compile.dfa_build import MATCH_BIT, START
from tokenmill._compile.dfa_classes import Classes, merge_ranges
from tokenmill._compile.dfa_compare import same_words
from tokenmill._compile.regex_ast import NotRegular
from tokenmill._compile.split import compile_stage
from tokenmill._unicode import code_points

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from tokenmill._compile.char_sets import CharSet
    from tokenmill._compile.dfa_tables import StageTables
    from tokenmill._compile.regex_cursor import Dialect

Stage = tuple[str, "Dialect", str, bool]
Family = Literal["gpt2", "cl100k", "o200k"]
Contraction = Literal["none", "exact", "ignore_case"]
Tail = Literal["", "crlf", "crlf_slash"]

LETTER, NUMBER, SPACE, MARK, UPPER, LOWER, BOTH, HAN = (1 << bit for bit in range(8))

_CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
_TAILS = {"": "", "crlf": r"[\r\n]*", "crlf_slash": r"[\r\n/]*"}
_MOST_DIGITS = 3
_EACH_DIGIT: Stage = (r"\p{hf:Numeric}", "onig", "isolated", False)


@dataclass(frozen=True, slots=True)
class NativeRule:
    r"""A split by family and parameters.

    `digits`: 0 for ` ?\p{N}+`, else the most numbers in a word. `tail`: what punctuation takes
    along. `end_run`: white space at the end of the text is one word. `isolate_digits`: "each"
    puts every number into a word of its own before the rest of the rule sees the pieces between.
    """

    family: Family
    contraction: Contraction
    digits: int
    letters_with_marks: bool = False
    tail: Tail = ""
    end_run: bool = False
    isolate_digits: Literal["none", "each"] = "none"
    isolate_han: bool = False


def recognise(stages: tuple[Stage, ...]) -> NativeRule | None:
    """Return the rule that gives the same words as the stages for every text, if there is one."""
    *earlier, last = stages or ((),)
    if not last or len(earlier) > 1:
        return None
    try:
        tables = compile_stage(*last)
        isolates = bool(earlier) and same_words(
            compile_stage(*earlier[0]), compile_stage(*_EACH_DIGIT)
        )
        rule = suggest(tables)
        canonical = compile_stage(pattern_of(rule), last[1], "removed", True)
    except NotRegular:
        return None
    if not same_words(tables, canonical) or isolates != bool(earlier):
        return None
    if not _is_scanned(rule):
        return None
    if not isolates:
        return rule
    is_known = rule.family == "gpt2" and _numbers_are_numeric(last[1])
    return replace(rule, isolate_digits="each") if is_known else None


def _is_scanned(rule: NativeRule) -> bool:
    """Whether the mask scanners of the core know all that the rule asks for."""
    if rule.digits > _MOST_DIGITS:
        return False
    if rule.family == "gpt2":
        return not rule.tail and not rule.end_run
    return rule.digits > 0


def pattern_of(rule: NativeRule) -> str:
    """Return the rule as a regex that both dialects read alike, less `isolate_digits`."""
    marks = r"\p{M}" if rule.letters_with_marks else ""
    numbers = rf"\p{{N}}{{1,{rule.digits}}}" if rule.digits else r" ?\p{N}+"
    punctuation = rf" ?[^\s\p{{L}}{marks}\p{{N}}]+{_TAILS[rule.tail]}"
    newlines = [] if rule.family == "gpt2" else [r"\s*[\r\n]+"]
    parts = [
        *([r"\p{Han}+"] if rule.isolate_han else []),
        *_WORDS[rule.family](rule, rf"[\p{{L}}{marks}]"),
        numbers,
        punctuation,
        *([r"\s+\z"] if rule.end_run else []),
        *newlines,
        r"\s+(?!\S)",
        r"\s+",
    ]
    return "|".join(parts)


def rule_classes(rule: NativeRule, dialect: Dialect) -> npt.NDArray[np.uint32]:
    """Rows (begin, end, flags) that cover all code points, for the mask scanners of the core."""
    sets = _flagged_sets(rule, dialect)
    classes = Classes(sets.values())
    flags = np.zeros(classes.count, dtype=np.int64)
    for flag, chars in sets.items():
        flags |= np.where(classes.in_set(chars), flag, 0)
    return merge_ranges(classes.bounds, flags[classes.of_segment])


def _contraction(rule: NativeRule) -> str:
    if rule.contraction == "none":
        return ""
    return f"(?i:{_CONTRACTIONS})" if rule.contraction == "ignore_case" else _CONTRACTIONS


def _gpt2_words(rule: NativeRule, letters: str) -> list[str]:
    contraction = _contraction(rule)
    return [*([contraction] if contraction else []), f" ?{letters}+"]


def _cl100k_words(rule: NativeRule, letters: str) -> list[str]:
    contraction = _contraction(rule)
    return [*([contraction] if contraction else []), rf"[^\r\n\p{{L}}\p{{N}}]?{letters}+"]


def _o200k_words(rule: NativeRule, _letters: str) -> list[str]:
    without = r"&&[^\p{Han}]" if rule.isolate_han else ""
    upper = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{without}]"
    lower = rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{without}]"
    contraction = _contraction(rule)
    tail = f"(?:{contraction})?" if contraction else ""
    return [
        rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{tail}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{tail}",
    ]


_WORDS: dict[str, Callable[[NativeRule, str], list[str]]] = {
    "gpt2": _gpt2_words,
    "cl100k": _cl100k_words,
    "o200k": _o200k_words,
}


def suggest(tables: StageTables) -> NativeRule:
    """Return the only rule that could be this stage, judged by where a few texts are cut."""

    def cut(text: str) -> int:
        return _first_match(tables, text)

    is_o200k, is_cl100k = cut("aB") == 1, cut("\tab") == len("\tab")
    family: Literal["gpt2", "cl100k", "o200k"] = (
        "o200k" if is_o200k else "cl100k" if is_cl100k else "gpt2"
    )
    letter = "a" if is_o200k else ""
    is_exact, is_any = (cut(f"{letter}'{s}a") == len(f"{letter}'{s}") for s in "sS")
    run = "1" * 8
    has_slash, has_crlf = cut("!\n/") == len("!\n/"), cut("!\n") == len("!\n")
    return NativeRule(
        family=family,
        contraction="ignore_case" if is_any else "exact" if is_exact else "none",
        digits=0 if cut(run) == len(run) else max(cut(run), 1),
        letters_with_marks=not is_o200k and cut("a\u0301") == len("a\u0301"),
        tail="crlf_slash" if has_slash else "crlf" if has_crlf else "",
        end_run=family != "gpt2" and cut("\n ") == len("\n "),
        isolate_han=is_o200k and cut("a\u4e00") == 1,
    )


def _first_match(tables: StageTables, text: str) -> int:
    """Length of the match at the beginning of a text, 0 if there is none."""
    begins = tables.ranges[:, 0]
    places = np.searchsorted(begins, [ord(char) for char in text], side="right") - 1
    state, end = START, 0
    for position, symbol in enumerate([*tables.ranges[places, 2].tolist(), tables.n_classes]):
        entry = int(tables.next[state, symbol])
        end = position if entry & MATCH_BIT else end
        state = entry & ~MATCH_BIT
    return end


def _flagged_sets(rule: NativeRule, dialect: Dialect) -> dict[int, CharSet]:
    def named(*names: str) -> CharSet:
        return union(*(code_points(dialect, name) for name in names))

    han = named("Han") if rule.isolate_han else ()
    isolated = code_points("hf", "Numeric") if rule.isolate_digits == "each" else ()
    letters = named("L", "M") if rule.letters_with_marks else named("L")
    sets = {
        LETTER: letters,
        SPACE: named("Space"),
        MARK: named("M"),
        UPPER: named("Lu", "Lt"),
        LOWER: named("Ll"),
        BOTH: named("Lm", "Lo"),
    }
    hidden = complement(union(han, isolated))
    sets = {flag: intersection(chars, hidden) for flag, chars in sets.items()}
    return {**sets, NUMBER: union(named("N"), isolated), HAN: han}


def _numbers_are_numeric(dialect: Dialect) -> bool:
    """Whether the digits that are isolated first leave no number to the split that follows."""
    numeric = code_points("hf", "Numeric")
    return not intersection(code_points(dialect, "N"), complement(numeric))
