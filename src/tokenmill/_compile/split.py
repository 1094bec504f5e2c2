"""One stage of a split: pattern, dialect and behaviour -> tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from tokenmill._compile.char_sets import complement
from tokenmill._compile.dfa_tables import StageTables, build_tables
from tokenmill._compile.regex_ast import (
    Char,
    Choice,
    Node,
    NotRegular,
    Repeat,
    Sequence,
    single_set,
)
from tokenmill._compile.regex_parse import parse

if TYPE_CHECKING:
    from tokenmill._compile.regex_cursor import Dialect


def compile_stage(pattern: str, dialect: Dialect, behavior: str, invert: bool) -> StageTables:
    r"""Compile one stage: `compile_stage(r"\s+", "onig", "removed", False)`.

    Behaviours are those of Hugging Face's Split. In the dialect "fancy" the text outside of matches
    is always dropped. Raises `NotRegular` where no
    table gives exactly the words of the reference, and `PatternError` where the pattern is wrong.
    """
    node = parse(pattern, dialect)
    keep_match, keep_gap = _kept(behavior, invert)
    if behavior == "contiguous":
        node = _run_of(node)
    elif behavior.startswith("merged"):
        node = _with_gap(node, gap_first=(behavior == "merged_with_previous") != invert)
    if dialect == "fancy":
        if not keep_match:
            raise NotRegular("a stage of this dialect cannot drop its matches")
        keep_gap = False
    return build_tables(node, keep_match=keep_match, keep_gap=keep_gap)


def _kept(behavior: str, invert: bool) -> tuple[bool, bool]:
    """Whether matches, and whether gaps, become words."""
    match behavior:
        case "isolated" | "contiguous" | "merged_with_previous" | "merged_with_next":
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


def _with_gap(node: Node, *, gap_first: bool) -> Node:
    """Join a match with the gap before or after it; the rest of each gap is a word too.

    Of neighbouring matches only the one at the gap takes it. Inverted, gaps are joined with the
    match on the other side, which has the same result.
    """
    chars = single_set(node.part if _is_run(node) else node)
    if chars is None:
        raise NotRegular("merged matches of more than a set of characters")
    gap = Char(complement(chars))
    maybe = Repeat(gap, 0, None, "greedy")
    joined = (maybe, node) if gap_first else (node, maybe)
    return Choice((Sequence(joined), Repeat(gap, 1, None, "greedy")))


def _is_run(node: Node) -> TypeGuard[Repeat]:
    return isinstance(node, Repeat) and (node.least, node.most, node.mode) == (1, None, "greedy")
