"""Rows -> record batches; labels that equal the ids share their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tokenmill._pack import attention_mask, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._causal.job import Job
    from tokenmill._causal.rows import CausalRows
    from tokenmill._causal.windows import Table

_MOST_VALUES = 1 << 28  # of a list array, whose offsets have 32 bits


class ArrowRows:
    """Makes Arrow columns of rows. It copies neither ids nor labels that equal them."""

    def __init__(self, job: Job, schema: pa.Schema) -> None:
        self._job = job
        self._schema = schema
        self._ones = np.empty(0, np.int8)  # the mask of all rows without padding

    def record_batches(self, rows: CausalRows) -> Iterator[pa.RecordBatch]:
        """Return the record batches of rows: one, unless there are too many tokens."""
        step = max(1, _MOST_VALUES // self._job.shape.context_length)
        for begin in range(0, len(rows), step):
            some = rows.some(begin, min(begin + step, len(rows)))
            columns = self._columns(some.table)
            if some.kept is not None:
                columns += [some.kept.column(n).combine_chunks() for n in some.kept.column_names]
            kinds = self._schema.types
            columns = [_cast(column, kind) for column, kind in zip(columns, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _columns(self, table: Table) -> list[Any]:
        """Return input_ids, attention_mask and labels, each a list array."""
        options = self._job.options
        ids = np.ascontiguousarray(table.ids)  # rows that overlap may be a view
        pieces, width = table.pieces, ids.shape[1]
        targets = labels(
            ids,
            pieces,
            width,
            across_documents=True,
            repeats=table.repeats if options.mask_overlap else None,
            ignore_index=options.ignore_index,
            dtype="int32",
        )
        mask = self._full_mask(table) if table.is_full else attention_mask(pieces, width, "int8")
        flat = [values.reshape(-1) for values in (ids, mask, targets)]
        if options.tail != "carry":
            return [pa.FixedSizeListArray.from_arrays(pa.array(v), width) for v in flat]
        ends = np.cumsum(table.lengths)
        if table.is_full or options.pack:  # only the last row of the stream can be short
            return [_lists(values[: ends[-1]], ends) for values in flat]
        is_token = mask.reshape(-1).view(np.bool_)
        return [_lists(values[is_token], ends) for values in flat]

    def _full_mask(self, table: Table) -> NDArray[np.int8]:
        if table.ids.size > self._ones.size:
            self._ones = np.ones(table.ids.size, np.int8)
        return self._ones[: table.ids.size]


def _cast(column: Any, kind: pa.DataType) -> Any:  # arrays
    return column if column.type == kind else column.cast(kind)


def _lists(values: NDArray[Any], ends: NDArray[np.int64]) -> pa.ListArray:
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
