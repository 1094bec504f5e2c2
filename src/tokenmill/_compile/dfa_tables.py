"""Stage tables: what the core needs to run one stage of a split, and where a text may be cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._compile.dfa_build import DEAD, MATCH_BIT, START, Builder
from tokenmill._compile.dfa_minimise import merge_columns, minimise, surely_matches
from tokenmill._compile.regex_ast import NotRegular
from tokenmill._compile.regex_program import build_program

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokenmill._compile.regex_ast import Node

    Table = npt.NDArray[np.int64]
    Pairs = npt.NDArray[np.uint8]

MOST_CLASSES = 254


@dataclass(frozen=True, eq=False)
class StageTables:
    """One stage: `ranges` rows are (begin, end, class); `next` has one column more for the end.

    `separates[a][b]`: no match reaches over the junction of a and b, and the scan of what comes
    before does not see whether b or the end of the text follows. `sync[a][b]`: besides, no gap
    reaches over it, so the text may be cut there and both halves be split on their own.
    """

    ranges: npt.NDArray[np.uint32]
    n_classes: int
    next: npt.NDArray[np.uint16]
    sync: Pairs
    separates: Pairs
    keep_match: bool
    keep_gap: bool

    def always_matches(self) -> bool:
        """Whether there are no gaps: every character starts a match, whatever follows it."""
        return bool(_starts_match(self.next.astype(np.int64)).all())


def build_tables(node: Node, *, keep_match: bool, keep_gap: bool) -> StageTables:
    """Compile a parsed pattern into the smallest table that finds its matches."""
    builder = Builder(build_program(node))
    full = builder.table()
    if (full[START] & MATCH_BIT).any():
        raise NotRegular("the pattern can match the empty text")
    table, renumber = merge_columns(minimise(full))
    n_classes = table.shape[1] - 1
    if n_classes > MOST_CLASSES:
        message = f"the pattern needs {n_classes} classes, more than {MOST_CLASSES}"
        raise NotRegular(message)
    separates = _separates(table)
    sync = separates & ~_gap_may_cross(table) if keep_gap else separates
    return StageTables(
        ranges=builder.classes.ranges(renumber),
        n_classes=n_classes,
        next=table.astype(np.uint16),
        sync=sync.astype(np.uint8),
        separates=separates.astype(np.uint8),
        keep_match=keep_match,
        keep_gap=keep_gap,
    )


def _separates(table: Table) -> npt.NDArray[np.bool_]:
    n_classes = table.shape[1] - 1
    # Death by b must look like the end of the text: same flag, no state after it.
    dies_like_end = table[:, :-1] == table[:, -1:]
    result = np.empty((n_classes, n_classes), dtype=bool)
    for symbol in range(n_classes):
        reached = np.unique(table[START:, symbol] & ~MATCH_BIT)
        result[symbol] = dies_like_end[reached[reached != DEAD]].all(axis=0)
    return result


def _gap_may_cross(table: Table) -> npt.NDArray[np.bool_]:
    """For every pair whether both characters may be gap characters, where nothing joins them."""
    after_first = table[START, :-1] & ~MATCH_BIT
    first_may_be_gap: npt.NDArray[np.bool_] = (table[after_first, :-1] & MATCH_BIT) == 0
    return first_may_be_gap & ~_starts_match(table)[None, :]


def _starts_match(table: Table) -> npt.NDArray[np.bool_]:
    """For every class whether a scan that starts with it finds a match for certain."""
    result: npt.NDArray[np.bool_] = surely_matches(table)[table[START, :-1] & ~MATCH_BIT]
    return result
