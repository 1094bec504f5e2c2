"""Rows of ids -> attention masks and labels, without a loop over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._causal.windows import Table


def attention_mask(table: Table) -> NDArray[np.int8]:
    """Return 1 on tokens and 0 on padding, as int8."""
    mask = np.ones(table.ids.shape, np.int8)
    _put_on_padding(mask, table, 0)
    return mask


def labels(table: Table, *, ignore_index: int, mask_overlap: bool) -> NDArray[np.int32]:
    """Return the ids, with `ignore_index` on padding and, if asked, on repeated tokens.

    The model shifts by itself: column `i` is what it shall predict from the columns before. Where
    nothing is to be ignored the result is the table of ids itself, not a copy.
    """
    repeated = int(table.repeats.max(initial=0)) if mask_overlap else 0
    if table.is_full and not repeated:
        return table.ids
    result: NDArray[np.int32] = table.ids.copy()
    _put_on_padding(result, table, ignore_index)
    if repeated:
        beginnings = result[:, :repeated]
        beginnings[np.arange(repeated) < table.repeats[:, None]] = ignore_index
    return result


def _put_on_padding(values: NDArray[Any], table: Table, fill: int) -> None:
    """Overwrite the padding; only rows that have some are touched."""
    width = values.shape[1]
    short = np.flatnonzero(table.lengths < width)
    if len(short):
        rows = values[short]
        rows[np.arange(width) >= table.lengths[short, None]] = fill
        values[short] = rows
