"""One stage of a split: pattern, dialect and behaviour -> tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._compile.dfa_tables import StageTables, build_tables
from tokenmill._compile.regex_ast import Char, Node, NotRegular, Repeat, single_set
from tokenmill._compile.regex_parse import parse

if TYPE_CHECKING:
    from tokenmill._compile.regex_cursor import Dialect


def compile_stage(pattern: str, dialect: Dialect, behavior: str, invert: bool) -> StageTables:
    r"""Compile one stage: `compile_stage(r"\s+", "onig", "removed", False)`.

    Behaviours are those of Hugging Face's Split: "isolated", "removed" and "contiguous". In the
    dialect "fancy" the text outside of matches is always dropped. Raises `NotRegular` where no
    table gives exactly the words of the reference, and `PatternError` where the pattern is wrong.
    """
    node = parse(pattern, dialect)
    keep_match, keep_gap = _kept(behavior, invert)
    if behavior == "contiguous":
        node = _run_of(node)
    if dialect == "fancy":
        if not keep_match:
            raise NotRegular("a stage of this dialect cannot drop its matches")
        keep_gap = False
    return build_tables(node, keep_match=keep_match, keep_gap=keep_gap)


def _kept(behavior: str, invert: bool) -> tuple[bool, bool]:
    """Whether matches, and whether gaps, become words."""
    match behavior:
        case "isolated" | "contiguous":
            return True, True
        case "removed":
            return invert, not invert
        case _:
            message = f"the split behaviour {behavior!r}"
            raise NotRegular(message)


def _run_of(node: Node) -> Node:
    """Join neighbouring matches: they become one word only if they are runs of one set."""
    part = node.part if isinstance(node, Repeat) and node.least == 1 else node
    chars = single_set(part)
    if chars is None:
        raise NotRegular("contiguous matches of more than a set of characters")
    return Repeat(Char(chars), 1, None, "greedy")
