"""Rows -> tables for a model, with one line per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._pack import (
    attention_mask,
    cu_seqlens,
    labels,
    pad_rows,
    position_ids,
    segment_ids,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tokenmill._pack import RowLooks, Rows


@dataclass(frozen=True)
class Columns:
    """Which tables to make, and how; `width` None makes them as wide as their longest row."""

    looks: RowLooks
    width: int | None
    pad_id: int

    def of(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Make the tables of some rows."""
        width = int(rows.pieces.row_lengths.max(initial=0)) if self.width is None else self.width
        return {name: TABLES[name](self, rows, width) for name in self.looks.columns}


def _input_ids(columns: Columns, rows: Rows, width: int) -> NDArray[Any]:
    return pad_rows(rows.ids, rows.pieces, width, columns.pad_id)


def _labels(columns: Columns, rows: Rows, width: int) -> NDArray[Any]:
    return labels(
        rows.ids,
        rows.pieces,
        width,
        shifted=columns.looks.shifted_labels,
        ignore_index=columns.looks.ignore_index,
    )


def _position_ids(columns: Columns, rows: Rows, width: int) -> NDArray[Any]:
    return position_ids(rows.pieces, width, continue_documents=columns.looks.continue_positions)


TABLES: dict[str, Callable[[Columns, Rows, int], NDArray[Any]]] = {
    "input_ids": _input_ids,
    "labels": _labels,
    "position_ids": _position_ids,
    "segment_ids": lambda _, rows, width: segment_ids(rows.pieces, width),
    "attention_mask": lambda _, rows, width: attention_mask(rows.pieces, width),
    "cu_seqlens": lambda _, rows, width: cu_seqlens(rows.pieces, width),
}
