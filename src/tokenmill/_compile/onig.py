"""A split pattern of any dialect -> one that Oniguruma reads with the same meaning.

Where the text of the pattern means the same to both engines it is kept. Where not (another
Unicode, a quantifier that is possessive to one of them only), it is written out from the syntax
tree, its sets by the usual names or else as code points. Either way the automata must be equal,
else it is refused.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from tokenmill._compile.char_sets import NOTHING, complement, intersection
from tokenmill._compile.dfa_compare import same_words
from tokenmill._compile.regex_ast import (
    Ahead,
    Atomic,
    Char,
    Choice,
    Node,
    NotRegular,
    Repeat,
    Sequence,
    single_set,
)
from tokenmill._compile.regex_parse import parse
from tokenmill._compile.split import compile_stage
from tokenmill._errors import PatternError

if TYPE_CHECKING:
    from tokenmill._compile.char_sets import CharSet
    from tokenmill._compile.regex_cursor import Dialect

_NAMES = (r"\r\n", r"\s", r"\p{L}", r"\p{N}", r"\p{M}")
_FIRST_PLAIN = 0x80
_CHARACTERS = ((0, 0xD800), (0xE000, 0x110000))


def as_onig(pattern: str, dialect: Dialect) -> str:
    """Return the pattern for Oniguruma; NotRegular if equal meaning cannot be shown."""
    if dialect == "onig":
        return pattern
    wanted = compile_stage(pattern, dialect, "removed", invert=True)
    for candidate in (pattern, _written(parse(pattern, dialect))):
        try:
            if same_words(compile_stage(candidate, "onig", "removed", invert=True), wanted):
                return candidate
        except (NotRegular, PatternError):
            continue
    raise NotRegular("no pattern of the other dialect has the same meaning")


def _written(node: Node) -> str:  # noqa: PLR0911 -- one for each kind of node
    match node:
        case Char(chars):
            return _class(chars)
        case Ahead(chars, True):
            return f"(?!{_class(complement(chars))})"
        case Ahead(chars, _):
            return f"(?={_class(chars)})"
        case Sequence(parts):
            return "".join(map(_written, parts))
        case Choice(options):
            return f"(?:{'|'.join(map(_written, options))})"
        case Atomic(part):
            return f"(?>{_written(part)})"
        case Repeat():
            return _repeated(node)


def _repeated(node: Repeat) -> str:
    most = "" if node.most is None else node.most
    text = f"(?:{_written(node.part)}){{{node.least},{most}}}"
    if node.mode == "possessive":
        return f"(?>{text})"
    return f"{text}?" if node.mode == "lazy" else text


def _class(chars: CharSet) -> str:
    """Write a set, or its complement if that is shorter; surrogates are not characters."""
    name = _named_sets().get(chars)
    if name is not None:
        return name
    inside = intersection(chars, _CHARACTERS)
    outside = intersection(complement(chars), _CHARACTERS)
    if not outside:
        return "[\\s\\S]"
    if inside == NOTHING:
        return "(?!)"
    if len(outside) < len(inside):
        return f"[^{_ranges(outside)}]"
    return f"[{_ranges(inside)}]"


def _ranges(chars: CharSet) -> str:
    return "".join(
        _character(begin) + (f"-{_character(end - 1)}" if end - begin > 1 else "")
        for begin, end in chars
    )


def _character(code_point: int) -> str:
    """Write ASCII as a number, because some of it has a meaning; other characters as themselves."""
    return f"\\x{{{code_point:X}}}" if code_point < _FIRST_PLAIN else chr(code_point)


@cache
def _named_sets() -> dict[CharSet, str]:
    """Return the sets that splits are mostly made of, by what Oniguruma takes them for."""
    sets: dict[CharSet, str] = {}
    for size in range(len(_NAMES), 0, -1):
        for names in combinations(_NAMES, size):
            for text in (f"[^{''.join(names)}]", f"[{''.join(names)}]"):
                chars = single_set(parse(text, "onig"))
                if chars is not None:
                    sets[chars] = text  # the fewest names win
    return sets
