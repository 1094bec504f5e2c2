"""Pattern text + dialect -> syntax tree.

Two dialects: "onig" is Oniguruma with Ruby syntax, "fancy" is fancy-regex over the regex crate.
Where they differ, the tree carries the meaning of the dialect asked for. What a table cannot hold
or what the engines treat in odd ways raises `NotRegular`; it is never approximated.
"""

from __future__ import annotations

import re

from tokenmill._compile.char_sets import EVERY, NOTHING, complement, union
from tokenmill._compile.regex_ast import (
    Ahead,
    Atomic,
    Char,
    Choice,
    Mode,
    Node,
    Repeat,
    Sequence,
)
from tokenmill._compile.regex_classes import fold, read_class
from tokenmill._compile.regex_cursor import Cursor, Dialect
from tokenmill._compile.regex_escapes import is_caseless, read_escape

_NEWLINE = ((10, 11),)
_INTERVAL = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII)
_MOST_REPEATS = 1000
_MOST_DEPTH = 100
_OPENINGS = (":", "i:", "-i:", ">", "=", "!")
_END = Ahead(NOTHING, at_end=True)


def parse(pattern: str, dialect: Dialect) -> Node:
    """Parse a whole pattern: `parse("a+", "onig") == Repeat(Char(((97, 98),)), 1, None, ...)`."""
    cursor = Cursor(pattern, dialect)
    ignore_case = cursor.take("(?i)")
    node = _read_choice(cursor, ignore_case, depth=0)
    if not cursor.at_end():
        cursor.fail("unmatched ')'")
    return node


def _read_choice(cursor: Cursor, ignore_case: bool, depth: int) -> Node:
    if depth > _MOST_DEPTH:
        cursor.refuse(f"more than {_MOST_DEPTH} nested groups")
    options = [_read_sequence(cursor, ignore_case, depth)]
    while cursor.take("|"):
        options.append(_read_sequence(cursor, ignore_case, depth))
    return options[0] if len(options) == 1 else Choice(tuple(options))


def _read_sequence(cursor: Cursor, ignore_case: bool, depth: int) -> Node:
    parts: list[Node] = []
    while not (cursor.at_end() or cursor.sees("|") or cursor.sees(")")):
        atom = _read_atom(cursor, ignore_case, depth)
        parts.append(_read_quantifier(cursor, atom))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _read_atom(cursor: Cursor, ignore_case: bool, depth: int) -> Node:
    letter = cursor.next_char()
    match letter:
        case "(":
            return _read_group(cursor, ignore_case, depth)
        case "[":
            folded = read_class(cursor, ignore_case=ignore_case)
            return Char(folded.chars, folded.letters)
        case ".":
            return Char(complement(_NEWLINE))
        case "$":
            return Ahead(_NEWLINE, at_end=True) if cursor.dialect == "onig" else _END
        case "\\":
            return _read_escaped(cursor, ignore_case)
        case "*" | "+" | "?":
            cursor.fail(f"nothing to repeat before {letter!r}")
        case "^" | "{":
            cursor.refuse(f"an unescaped {letter!r}")
    return _literal(cursor, ord(letter), ignore_case)


def _read_escaped(cursor: Cursor, ignore_case: bool) -> Node:
    if cursor.take("z"):
        return _END
    kind = cursor.pattern[cursor.offset : cursor.offset + 1]
    item = read_escape(cursor, in_class=False)
    if isinstance(item, int):
        return _literal(cursor, item, ignore_case)
    if ignore_case and not is_caseless(kind):
        cursor.refuse(f"the set \\{kind} that ignores case")
    return Char(item)


def _literal(cursor: Cursor, code_point: int, ignore_case: bool) -> Char:
    if not ignore_case:
        return Char(((code_point, code_point + 1),))
    folded = fold(cursor, code_point)
    return Char(folded.chars, folded.letters)


def _read_group(cursor: Cursor, ignore_case: bool, depth: int) -> Node:
    opening = _read_opening(cursor)
    if opening.endswith("i:"):
        ignore_case = opening == "i:"
    node = _read_rest(cursor, ignore_case, depth)
    match opening:
        case ">":
            return Atomic(node)
        case "=" | "!":
            return _look(cursor, node, negated=opening == "!")
    return node


def _read_opening(cursor: Cursor) -> str:
    """Read what makes a group special, after its bracket."""
    if not cursor.take("?"):
        return ""
    found = next(filter(cursor.take, _OPENINGS), None)
    if found is None:
        cursor.refuse("a group of an unknown kind")
    return found


def _read_rest(cursor: Cursor, ignore_case: bool, depth: int) -> Node:
    """Read a group's inside and its closing bracket."""
    node = _read_choice(cursor, ignore_case, depth + 1)
    if not cursor.take(")"):
        cursor.fail("expected ')', got the end of the pattern")
    return node


def _look(cursor: Cursor, node: Node, *, negated: bool) -> Ahead:
    ahead = _next_symbols(node)
    if ahead is None:
        cursor.refuse("a look-ahead of more than one character")
    return Ahead(complement(ahead.chars), not ahead.at_end) if negated else ahead


def _next_symbols(node: Node) -> Ahead | None:
    """Return what the next character must be for the node to match, if that decides it."""
    match node:
        case Char(chars):
            return Ahead(chars, at_end=False)
        case Ahead():
            return node
        case Choice(options):
            return _any_of([_next_symbols(option) for option in options])
        case Sequence(()):
            return Ahead(EVERY, at_end=True)
        case Sequence((part,)) | Atomic(part) | Repeat(part, 1, _, "greedy" | "lazy"):
            return _next_symbols(part)
    return None


def _any_of(options: list[Ahead | None]) -> Ahead | None:
    known = [option for option in options if option is not None]
    if len(known) < len(options):
        return None
    return Ahead(union(*(one.chars for one in known)), any(one.at_end for one in known))


def _read_quantifier(cursor: Cursor, atom: Node) -> Node:
    bounds, is_interval = _read_bounds(cursor)
    if bounds is None:
        return atom
    if isinstance(atom, Ahead):
        cursor.refuse("a repeated look-ahead or anchor")
    least, most = bounds
    if is_interval and cursor.dialect == "onig" and cursor.take("+"):
        # Ruby syntax: an interval has no possessive form, the plus repeats it as a whole.
        node: Node = Repeat(Repeat(atom, least, most, "greedy"), 1, None, "greedy")
    else:
        if is_interval and cursor.dialect == "onig" and least == most and cursor.sees("?"):
            cursor.refuse("a reluctant fixed count")
        node = Repeat(atom, least, most, _read_mode(cursor))
    if (
        cursor.sees("*")
        or cursor.sees("+")
        or cursor.sees("?")
        or _INTERVAL.match(cursor.pattern, cursor.offset)
    ):
        cursor.refuse("a repeated quantifier")
    return node


def _read_mode(cursor: Cursor) -> Mode:
    if cursor.take("?"):
        return "lazy"
    return "possessive" if cursor.take("+") else "greedy"


def _read_bounds(cursor: Cursor) -> tuple[tuple[int, int | None] | None, bool]:
    """Read a quantifier's counts, and whether it was spelled as an interval."""
    if cursor.take("?"):
        return (0, 1), False
    if cursor.take("*"):
        return (0, None), False
    if cursor.take("+"):
        return (1, None), False
    found = _INTERVAL.match(cursor.pattern, cursor.offset)
    if found is None:
        return None, False
    least = int(found[1])
    most = least if found[2] is None else int(found[3]) if found[3] else None
    if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
        cursor.refuse(f"the repeat count {found[0]}")
    cursor.offset = found.end()
    return (least, most), True
