"""DeviceRowPacker: batches of ids on a device -> rows on that device.

Rows equal those of `Packer` element by element. `concat` cuts the stream of all batches, so the
rows do not depend on where batches end; the other strategies pack each batch on its own.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.documents import DeviceDocuments
from tokenmill._cuda.row_plans import plan_for
from tokenmill._cuda.rows import (
    DeviceRowOptions,
    DeviceRows,
    RowFrame,
    check_ids,
    host_offsets,
    keep,
    make_rows,
)
from tokenmill._errors import OptionError
from tokenmill._pack import RowLooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._cuda.protocols import RowBackend
    from tokenmill._pack import Packer
    from tokenmill._pack.rows import Pieces


class DeviceRowPacker:
    """Packs batches of documents into rows of `packer.context_length`, all on one device.

    `add` takes the ids of a batch (int32 or uint32, on the device of `backend`) and the offsets of
    its documents, and returns the rows that are full now, a multiple of `batch_rows`, or None.
    Tokens that wait for a full row are copied, so the ids may be overwritten afterwards. `finish`
    returns the remaining rows; with `tail="drop"` a short last row is dropped.

    `bos_id` and `eos_id` go around every document. `columns`, `dtype` ("int32" or "int64"),
    `pad_id`, `shifted_labels`, `ignore_index` and `continue_positions` are those of PackedDataset.
    `rows`, `tokens`, `padding`, `repeated` and `dropped` are counts: after `finish`,
    tokens + padding + repeated - dropped is rows times `context_length`. `empty` counts documents
    without a token, which are in no row.
    """

    def __init__(
        self,
        backend: RowBackend,
        packer: Packer,
        *,
        bos_id: int | None = None,
        eos_id: int | None = None,
        batch_rows: int = 1,
        columns: Sequence[str] = ("input_ids", "labels"),
        dtype: str = "int64",
        pad_id: int = 0,
        shifted_labels: bool = False,
        ignore_index: int = -100,
        continue_positions: bool = False,
    ) -> None:
        if packer.context_length is None:
            raise OptionError(
                "expected a strategy with rows of one length, got 'none'", where="pack"
            )
        if operator.index(batch_rows) < 1:
            raise OptionError(f"expected 1 or more, got {batch_rows}", where="batch_rows")
        self._backend = backend
        self._frame = RowFrame(bos_id, eos_id)
        looks = RowLooks(columns, dtype, shifted_labels, ignore_index, continue_positions)
        self._options = DeviceRowOptions(packer.context_length, looks, pad_id)
        self._plan = plan_for(packer)
        self._batch_rows = operator.index(batch_rows)
        self._kept: Any = None  # the array that holds carried tokens
        self.rows = self.tokens = self.padding = self.empty = 0

    @property
    def repeated(self) -> int:
        """Tokens that are in a second row too."""
        return self._plan.repeated

    @property
    def dropped(self) -> int:
        """Tokens that are in no row."""
        return self._plan.dropped

    def add(self, ids: Any, offsets: Any) -> DeviceRows | None:  # arrays on the device
        """Add a batch: document `i` is `ids[offsets[i]:offsets[i + 1]]`."""
        check_ids(ids)
        bounds = host_offsets(self._backend, offsets)
        lengths = self._frame.lengths(np.diff(bounds))
        self.tokens += int(lengths.sum())
        self.empty += int(np.count_nonzero(lengths == 0))
        self._plan.add(DeviceDocuments.of_batch(self._backend.address(ids), bounds), lengths)
        with self._backend.using(None):
            made = self._made(self._plan.take(self._batch_rows))
            documents, pieces = self._plan.rest()
            kept, self._kept = keep(self._backend, documents, pieces, self._frame)
        self._plan.keep(kept)
        return made

    def finish(self) -> DeviceRows | None:
        """Return the remaining rows, and reset everything except the counts."""
        with self._backend.using(None):
            made = self._made(self._plan.finish())
        self._kept = None
        return made

    def _made(self, planned: tuple[DeviceDocuments, Pieces]) -> DeviceRows | None:
        documents, pieces = planned
        if not pieces.rows:
            return None
        self.rows += pieces.rows
        self.padding += pieces.rows * self._options.width - int(pieces.lengths.sum())
        return make_rows(self._backend, documents, pieces, self._frame, self._options)
