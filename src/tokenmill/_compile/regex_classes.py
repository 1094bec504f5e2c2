r"""Bracketed character classes: `[^\s\p{L}]`, `[a-z&&[^x]]`, `[[:alpha:]]`, as sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._compile.char_sets import CharSet, complement, intersection, of_chars, union
from tokenmill._compile.regex_escapes import is_caseless, named_set, read_escape
from tokenmill._unicode import case_variants

if TYPE_CHECKING:
    from tokenmill._compile.regex_cursor import Cursor

_LAST_ASCII = 0x7F


@dataclass(frozen=True, slots=True)
class Folded:
    """A set and the ASCII letters in it that ignoring case has widened."""

    chars: CharSet
    letters: str = ""


def read_class(cursor: Cursor, *, ignore_case: bool) -> Folded:
    """Read a class after its opening bracket, up to and including the closing one."""
    negated = cursor.take("^")
    result = _read_operand(cursor, ignore_case=ignore_case, first=True)
    while cursor.take("&&"):
        right = _read_operand(cursor, ignore_case=ignore_case, first=False)
        result = Folded(intersection(result.chars, right.chars), result.letters + right.letters)
    cursor.next_char()
    return Folded(complement(result.chars), result.letters) if negated else result


def fold(cursor: Cursor, code_point: int) -> Folded:
    """Return all code points that match this one without regard to case."""
    if code_point > _LAST_ASCII:
        cursor.refuse("a non-ASCII character that ignores case")
    letter = chr(code_point).lower()
    if not letter.isalpha():
        return Folded(((code_point, code_point + 1),))
    variants = case_variants(cursor.dialect, letter)
    return Folded(of_chars(variants), letter)


def _read_operand(cursor: Cursor, *, ignore_case: bool, first: bool) -> Folded:
    """Read the union of items up to `&&` or the closing bracket, which stays unread."""
    items: list[Folded] = []
    if first and cursor.sees("]"):
        if cursor.pattern.find("]", cursor.offset + 1) < 0:
            cursor.fail("empty or unclosed character class")
        items.append(Folded(_single(ord(cursor.next_char()))))
    while not (cursor.sees("]") or cursor.sees("&&")):
        if cursor.at_end():
            cursor.fail("expected ']', got the end of the pattern")
        items.append(_read_item(cursor, ignore_case=ignore_case))
    if not items:
        cursor.refuse("an empty part of a character class")
    return Folded(union(*(item.chars for item in items)), "".join(item.letters for item in items))


def _read_item(cursor: Cursor, *, ignore_case: bool) -> Folded:
    if cursor.dialect == "fancy" and (cursor.sees("--") or cursor.sees("~~")):
        cursor.refuse("a difference of character classes")
    if cursor.take("[:"):
        return _read_posix(cursor, ignore_case=ignore_case)
    if cursor.take("["):
        return read_class(cursor, ignore_case=ignore_case)
    begin = _read_single(cursor, ignore_case=ignore_case)
    is_range = cursor.sees("-") and not (cursor.sees("-]") or cursor.sees("-&&"))
    if not isinstance(begin, int):
        if is_range:
            cursor.fail("a range cannot begin with a set")
        return Folded(begin)
    if is_range:
        return _read_range(cursor, begin, ignore_case=ignore_case)
    return fold(cursor, begin) if ignore_case else Folded(_single(begin))


def _read_range(cursor: Cursor, begin: int, *, ignore_case: bool) -> Folded:
    cursor.next_char()
    if cursor.sees("[") or (cursor.dialect == "fancy" and cursor.sees("-")):
        cursor.refuse("a range that ends in a class")
    end = _read_single(cursor, ignore_case=ignore_case)
    if not isinstance(end, int):
        cursor.fail("a range cannot end with a set")
    if end < begin:
        cursor.fail(f"empty range, got {chr(begin)!r} to {chr(end)!r}")
    if cursor.sees("-") and not cursor.sees("-]"):
        cursor.refuse("a '-' after a range")
    if not ignore_case:
        return Folded(((begin, end + 1),))
    if end > _LAST_ASCII:
        cursor.refuse("a non-ASCII range that ignores case")
    folds = [fold(cursor, c) for c in range(begin, end + 1)]
    return Folded(union(*(f.chars for f in folds)), "".join(f.letters for f in folds))


def _read_single(cursor: Cursor, *, ignore_case: bool) -> int | CharSet:
    letter = cursor.next_char()
    if letter != "\\":
        return ord(letter)
    kind = cursor.pattern[cursor.offset : cursor.offset + 1]
    if kind == "b":
        cursor.refuse("\\b in a character class")
    item = read_escape(cursor, in_class=True)
    if ignore_case and not isinstance(item, int) and not is_caseless(kind):
        cursor.refuse(f"the set \\{kind} that ignores case")
    return item


def _read_posix(cursor: Cursor, *, ignore_case: bool) -> Folded:
    if ignore_case:
        cursor.refuse("a POSIX class that ignores case")
    negated = cursor.take("^")
    chars = named_set(cursor, f"[:{cursor.until(':]')}:]")
    return Folded(complement(chars) if negated else chars)


def _single(code_point: int) -> CharSet:
    return ((code_point, code_point + 1),)
