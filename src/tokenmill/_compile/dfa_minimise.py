"""Transition table -> the one smallest table that finds the same matches.

Only the last flag of a scan counts. A flag that is always followed by a later one is dropped, so
that tables with the same matches become equal up to the numbers of their states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokenmill._compile.dfa_build import DEAD, MATCH_BIT, START
from tokenmill._compile.regex_ast import NotRegular

if TYPE_CHECKING:
    import numpy.typing as npt

    Table = npt.NDArray[np.int64]

_STATE = MATCH_BIT - 1


def minimise(table: Table) -> Table:
    """Merge equivalent states; the dead state stays 0 and the start 1."""
    table = _drop_futile_flags(table)
    blocks = _blocks(table)
    if blocks[START] == blocks[DEAD]:
        raise NotRegular("the pattern matches nothing")
    _, first = np.unique(blocks, return_index=True)
    order = sorted(first.tolist(), key=lambda state: (blocks[state] != blocks[DEAD], state))
    # The start is the first state after the dead one, so this order numbers it 1.
    renumber = np.empty(len(first), dtype=np.int64)
    renumber[blocks[order]] = np.arange(len(order))
    small = table[order]
    states: Table = renumber[blocks[small & _STATE]]
    return states | (small & MATCH_BIT)


def merge_columns(table: Table) -> tuple[Table, npt.NDArray[np.int64]]:
    """Merge classes with equal columns; return the table and the new number of each class."""
    classes = table[:, :-1]
    _, first, inverse = np.unique(classes, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    merged = np.concatenate([classes[:, first[order]], table[:, -1:]], axis=1)
    return merged, rank[inverse.reshape(-1)]


def surely_matches(table: Table) -> npt.NDArray[np.bool_]:
    """For every state whether a flag is certain to come, whatever the rest of the text is."""
    flagged = (table & MATCH_BIT) != 0
    sure = np.ones(len(table), dtype=bool)
    sure[DEAD] = False
    while True:
        again = (flagged | sure[table & _STATE]).all(axis=1)
        if (again == sure).all():
            return sure
        sure = again


def _drop_futile_flags(table: Table) -> Table:
    futile = surely_matches(table)[table & _STATE]
    return np.where(futile, table & _STATE, table)


def _blocks(table: Table) -> npt.NDArray[np.int64]:
    """Give equal states the same number: refine by flags and successors until stable."""
    blocks = np.zeros(len(table), dtype=np.int64)
    count = 1
    while True:
        signature = (table & MATCH_BIT) | blocks[table & _STATE]
        keyed = np.concatenate([blocks[:, None], signature], axis=1)
        _, blocks = np.unique(keyed, axis=0, return_inverse=True)
        blocks = blocks.reshape(-1)
        if blocks.max() + 1 == count:
            return blocks
        count = int(blocks.max()) + 1
