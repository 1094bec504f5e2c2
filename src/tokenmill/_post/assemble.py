"""Ids of texts -> EncodedBatch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._batch import EncodedBatch
from tokenmill._errors import DtypeError, EncodeError, OptionError
from tokenmill._post.rows import PAD, Column, fill, lay_out, pad_rows
from tokenmill._post.truncation import check_room, cut_windows, whole_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from tokenmill._post.request import Wanted
    from tokenmill._post.rows import Rows
    from tokenmill._post.templates import Parts, Templates
    from tokenmill._post.truncation import Windows


@dataclass(frozen=True)
class Encoded:
    """The texts of one side, without anything around them: flat ids, and where texts begin.

    `columns`: more values for each token, by name, which go through the same rows; their value for
    special tokens and for padding is 0.
    """

    ids: NDArray[Any]
    offsets: NDArray[np.int64]
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)


def encode_side(
    model: Any,  # noqa: ANN401 -- the core's model or its look-alike
    given: tuple[Any, ...],
    in_characters: bool | None,
) -> Encoded:
    """Encode the texts of one side, with spans unless `in_characters` is None."""
    if in_characters is None:
        return Encoded(*model.encode_batch(*given))
    ids, offsets, spans = model.encode_spans(*given, in_characters)
    return Encoded(ids, offsets, {"spans": spans.reshape(-1, 2)})


def assemble(
    sides: Sequence[Encoded],
    templates: Templates,
    wanted: Wanted,
    *,
    add_special_tokens: bool,
    dtype: DTypeLike,
) -> EncodedBatch:
    """Make the rows of texts, or of pairs of them."""
    if "spans" in sides[0].columns:
        templates.check_offsets(wanted)
    is_pair = len(sides) > 1
    counts = [len(side.offsets) - 1 for side in sides]
    if counts[0] != counts[-1]:
        raise OptionError(f"pairs: expected {counts[0]} texts, one for each, got {counts[-1]}")
    parts = templates.parts(is_pair=is_pair, add_special_tokens=add_special_tokens)
    lengths = [np.diff(side.offsets) for side in sides]
    windows = _windows(lengths, templates, wanted, _n_fixed(parts))
    rows = lay_out(parts, windows, overflowing=wanted.overflowing)
    shape: tuple[int, ...] = (-1,)
    if wanted.padding is not None:
        rows, width = pad_rows(rows, wanted.padding)
        _refuse_longer(rows, width)
        shape = (len(rows.samples), width)
    columns = {
        name: column.reshape(*shape, *column.shape[1:])
        for name, column in _columns(sides, parts, rows, wanted, dtype).items()
    }
    offsets = np.zeros(len(rows.samples) + 1, dtype=np.int64)
    np.cumsum(rows.totals, out=offsets[1:])
    return EncodedBatch(columns, offsets, rows.samples if wanted.overflowing else None)


def _n_fixed(parts: Parts) -> int:
    return sum(len(part.ids) for part in parts)


def _windows(
    lengths: list[NDArray[np.int64]], templates: Templates, wanted: Wanted, n_added: int
) -> list[Windows]:
    if wanted.truncation is None:
        return whole_windows(lengths)
    room = check_room(wanted.truncation, n_added, templates.n_added(is_pair=False))
    return cut_windows(lengths, wanted.truncation, room)


def _columns(
    sides: Sequence[Encoded], parts: Parts, rows: Rows, wanted: Wanted, dtype: DTypeLike
) -> dict[str, NDArray[Any]]:
    kinds = np.array(rows.kinds)
    padding = wanted.padding
    fixed_ids = [token_id for part in parts for token_id in part.ids]
    index = rows.index()
    pad_id = 0 if padding is None else padding.pad_id
    _check_range([*fixed_ids, pad_id], dtype)
    ids = Column(tuple(side.ids for side in sides), fixed_ids, pad_id)
    columns = {"ids": fill(ids, len(fixed_ids), index, dtype)}
    for name in sides[0].columns:
        values = tuple(side.columns[name] for side in sides)
        column = Column(values, 0, 0)
        columns[name] = fill(column, len(fixed_ids), index, values[0].dtype)
    if wanted.type_ids:
        columns["type_ids"] = rows.spread(rows.types.astype(np.uint32))
    if wanted.special_mask:
        columns["special_mask"] = rows.spread((kinds > 1).astype(np.uint8))
    if wanted.attention_mask:
        columns["attention_mask"] = rows.spread((kinds != PAD).astype(np.uint8))
    return columns


def _check_range(ids: list[int], dtype: DTypeLike) -> None:
    most = np.iinfo(np.dtype(dtype)).max
    if max(ids) > most:
        raise DtypeError(
            f"dtype: {np.dtype(dtype)} holds ids up to {most}, got {max(ids)} for the special "
            "tokens or for pad_id",
            hint="use dtype='uint32'",
        )


def _refuse_longer(rows: Rows, width: int) -> None:
    totals = rows.totals
    row = int(np.argmax(totals)) if len(totals) else 0
    if len(totals) and totals[row] > width:
        raise EncodeError(
            f"expected a row of at most {width} tokens, got one of {totals[row]}",
            document=int(rows.samples[row]),
            hint="truncation='longest_first' cuts rows to max_length",
        )
