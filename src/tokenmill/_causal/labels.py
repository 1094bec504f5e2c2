"""Rows of ids -> attention masks and labels, without a loop over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._causal.windows import Table


def attention_mask(table: Table) -> NDArray[np.int8]:
    """Return 1 on tokens and 0 on padding, as int8."""
    rows, width = table.ids.shape
    if table.is_full:
        return np.ones((rows, width), np.int8)
    return (np.arange(width) < table.lengths[:, None]).astype(np.int8)


def labels(table: Table, *, ignore_index: int, mask_overlap: bool) -> NDArray[np.int32]:
    """Return the ids, with `ignore_index` on padding and, if asked, on repeated tokens.

    The model shifts by itself: column `i` is what it shall predict from the columns before. Where
    nothing is to be ignored the result is the table of ids itself, not a copy.
    """
    masks_overlap = mask_overlap and bool(table.repeats.any())
    if table.is_full and not masks_overlap:
        return table.ids
    result: NDArray[np.int32] = table.ids.copy()
    columns = np.arange(table.ids.shape[1])
    if not table.is_full:
        result[columns >= table.lengths[:, None]] = ignore_index
    if masks_overlap:
        result[columns < table.repeats[:, None]] = ignore_index
    return result
