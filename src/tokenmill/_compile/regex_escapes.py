r"""Escapes of a pattern: \n, \x{41}, \s, \p{Lu}, and so on, as one code point or a set."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from tokenmill._compile.char_sets import CharSet, complement
from tokenmill._unicode import code_points, names

if TYPE_CHECKING:
    from tokenmill._compile.regex_cursor import Cursor

_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7, "e": 27}
_SHORTHANDS = {"s": "Space", "d": "Digit", "w": "Word", "h": "HexDigit"}
_LONG_NAMES = {
    "letter": "L", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt",
    "modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "number": "N", "decimalnumber": "Nd",
    "punctuation": "P", "symbol": "S", "separator": "Z",
}  # fmt: skip
_PREFIXES = ("script=", "sc=", "generalcategory=", "gc=")
_OTHER_ENGINE = "hf:"
_LAST_ASCII = 0x7F


def read_escape(cursor: Cursor, *, in_class: bool) -> int | CharSet:
    """Read what follows a backslash: a code point, or a set for a class escape."""
    letter = cursor.next_char()
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    if letter.lower() in _SHORTHANDS:
        return _shorthand(cursor, letter, in_class=in_class)
    if letter in "pP":
        return _read_property(cursor, negated=letter == "P")
    if letter in "xu":
        return _read_hex(cursor, letter)
    if letter.isalnum() and letter.isascii():
        cursor.refuse(f"the escape \\{letter}")
    return ord(letter)


def named_set(cursor: Cursor, name: str) -> CharSet:
    """Return the set with this name, as the engine of the pattern's dialect sees it."""
    engine: str = cursor.dialect
    if name.startswith(_OTHER_ENGINE):
        engine, name = "hf", name.removeprefix(_OTHER_ENGINE)
    known = _names_by_key(engine).get(_key(name, engine))
    if known is None:
        cursor.refuse(f"the unknown property {name!r}")
    return code_points(engine, known)


def _shorthand(cursor: Cursor, letter: str, *, in_class: bool) -> CharSet:
    name = _SHORTHANDS[letter.lower()]
    # Oniguruma's \w takes superscripts of Latin-1 for word characters, its [\w] does not.
    chars = code_points(cursor.dialect, "WordInClass" if in_class and name == "Word" else name)
    return complement(chars) if letter.isupper() else chars


def is_caseless(letter: str) -> bool:
    r"""Whether \letter is a set that (?i) cannot change: white space and digits have no case."""
    return letter in "sSdD"


def _read_property(cursor: Cursor, *, negated: bool) -> CharSet:
    if cursor.take("{"):
        name = cursor.until("}").strip()
    elif cursor.dialect == "fancy":
        name = cursor.next_char()
    else:
        cursor.refuse("a property without braces")
    if name.startswith("^"):
        name, negated = name[1:], not negated
    chars = named_set(cursor, name)
    return complement(chars) if negated else chars


def _read_hex(cursor: Cursor, letter: str) -> int:
    if cursor.take("{"):
        digits = cursor.until("}")
        if letter == "u" and cursor.dialect == "onig":
            cursor.refuse("\\u with braces")
    else:
        width = 2 if letter == "x" else 4
        digits = cursor.pattern[cursor.offset : cursor.offset + width]
        if len(digits) < width:
            cursor.refuse("a short hexadecimal escape")
        cursor.offset += width
    if not re.fullmatch("[0-9a-fA-F]{1,6}", digits):
        cursor.refuse(f"the hexadecimal escape {digits!r}")
    value = int(digits, 16)
    # Oniguruma reads \xHH as one byte of UTF-8, and a surrogate is not a character at all.
    is_byte = letter == "x" and len(digits) == 2 and value > _LAST_ASCII  # noqa: PLR2004
    if (is_byte and cursor.dialect == "onig") or 0xD800 <= value < 0xE000 or value > 0x10FFFF:  # noqa: PLR2004
        cursor.refuse(f"the hexadecimal escape {digits!r}")
    return value


@cache
def _names_by_key(engine: str) -> dict[str, str]:
    known = names(engine)
    hidden = set() if engine == "hf" else {*_SHORTHANDS.values(), "WordInClass", "Dot"}
    table = {_key(name, ""): name for name in known if name not in hidden}
    table.update((long, name) for long, name in _LONG_NAMES.items() if name in known)
    return table


def _key(name: str, engine: str) -> str:
    """Spell a name the way engines compare them: without case, blanks, `_` and `-`."""
    key = re.sub(r"[\s_-]", "", name).lower()
    if engine == "fancy":
        for prefix in _PREFIXES:
            key = key.removeprefix(prefix)
    return key
