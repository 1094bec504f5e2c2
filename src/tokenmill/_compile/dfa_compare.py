"""Whether two stages give the same words for every text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokenmill._compile.dfa_build import DEAD, MATCH_BIT, START

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokenmill._compile.dfa_tables import StageTables

_SURROGATES = (0xD800, 0xE000)


def same_words(left: StageTables, right: StageTables) -> bool:
    """Compare two stages: both tables are minimal, so equal ones differ in state numbers only."""
    if left.keep_match != right.keep_match:
        return False
    if left.keep_gap != right.keep_gap and not left.always_matches():
        return False
    pairs = _common_classes(left, right)
    ends = np.array([[left.n_classes, right.n_classes]])
    columns = np.concatenate([pairs, ends])
    return left.next.shape[0] == right.next.shape[0] and _is_isomorphic(
        left.next[:, columns[:, 0]], right.next[:, columns[:, 1]]
    )


def _common_classes(left: StageTables, right: StageTables) -> npt.NDArray[np.int64]:
    """All pairs (class on the left, class on the right) that some code point has."""
    bounds = np.unique(
        np.concatenate([left.ranges[:, 0], right.ranges[:, 0], np.array(_SURROGATES)])
    )
    bounds = bounds[(bounds < _SURROGATES[0]) | (bounds >= _SURROGATES[1])]
    classes = [
        tables.ranges[np.searchsorted(tables.ranges[:, 0], bounds, side="right") - 1, 2]
        for tables in (left, right)
    ]
    return np.unique(np.stack(classes, axis=1), axis=0).astype(np.int64)


def _is_isomorphic(left: npt.NDArray[np.uint16], right: npt.NDArray[np.uint16]) -> bool:
    if ((left ^ right) & MATCH_BIT)[START].any():
        return False
    partner = {DEAD: DEAD, START: START}
    pending = [START]
    for state in pending:
        ours, theirs = left[state].tolist(), right[partner[state]].tolist()
        for a, b in zip(ours, theirs, strict=True):
            if (a ^ b) & MATCH_BIT:
                return False
            a_state, b_state = a & ~MATCH_BIT, b & ~MATCH_BIT
            if a_state not in partner:
                partner[a_state] = b_state
                pending.append(a_state)
            elif partner[a_state] != b_state:
                return False
    return len(set(partner.values())) == len(partner)
