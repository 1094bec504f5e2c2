"""pack: lengths of documents -> rows, ids of documents -> ids of rows, rows -> masks and labels.

Lengths alone decide which tokens are in which row; ids are moved once, afterwards.
Every token is in a row or is counted as dropped.
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
from tokenmill._pack.looks import COLUMNS, RowLooks
from tokenmill._pack.packer import STRATEGIES, ConcatShape, Packer, concat_rows, concat_shape
from tokenmill._pack.rows import Pieces, Rows, ShardShape
from tokenmill._pack.stream import ConcatStream

__all__ = [
    "COLUMNS",
    "STRATEGIES",
    "ConcatShape",
    "ConcatStream",
    "Packer",
    "Pieces",
    "RowLooks",
    "Rows",
    "ShardShape",
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
