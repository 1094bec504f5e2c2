"""pack: lengths of documents -> rows, ids of documents -> ids of rows, rows -> masks and labels.

Which tokens stand in which row is decided from lengths alone; ids are moved once, afterwards.
Every token stands in a row or is counted as dropped.
"""

from __future__ import annotations

from tokenmill._pack.copies import frame, gather
from tokenmill._pack.derive import (
    attention_mask,
    cu_seqlens,
    labels,
    pad_rows,
    position_ids,
    segment_ids,
)
from tokenmill._pack.packer import STRATEGIES, ConcatShape, Packer, concat_rows, concat_shape

__all__ = [
    "STRATEGIES",
    "ConcatShape",
    "Packer",
    "attention_mask",
    "concat_rows",
    "concat_shape",
    "cu_seqlens",
    "frame",
    "gather",
    "labels",
    "pad_rows",
    "position_ids",
    "segment_ids",
]
