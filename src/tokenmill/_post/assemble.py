"""Ids of texts -> EncodedBatch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.encoded import EncodedBatch
from tokenmill._errors import DtypeError, EncodeError, Hint, Option
from tokenmill._post.enough import encode_enough
from tokenmill._post.layout import Encoded, arrange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from tokenmill._post.layout import Layout
    from tokenmill._post.request import Wanted
    from tokenmill._post.templates import Templates


def encode_side(
    model: Any,  # the core's model, or that of a reference library
    texts: Any,  # anything the core takes
    in_characters: bool | None,
    need: int | None = None,
    **options: int,
) -> Encoded:
    """Encode the texts of one side, with spans unless `in_characters` is None.

    `need`: so many tokens of a text are enough. `options` are those of the core's `encode_batch`.
    """
    if in_characters is not None:
        ids, offsets, spans = model.encode_spans(texts, in_characters=in_characters, **options)
        return Encoded(ids, offsets, {"spans": spans.reshape(-1, 2)})
    if need is not None:
        return encode_enough(model, texts, need, **options)
    return Encoded(*model.encode_batch(texts, **options))


def assemble(
    sides: Sequence[Encoded],
    templates: Templates,
    wanted: Wanted,
    *,
    add_special_tokens: bool,
    dtype: DTypeLike,
) -> EncodedBatch:
    """Make the rows of texts, or of pairs of them."""
    layout = arrange(sides, templates, wanted, add_special_tokens=add_special_tokens)
    shape: tuple[int, ...] = (-1,)
    if wanted.padding is not None:
        _refuse_longer(layout)
        shape = (len(layout.rows.samples), layout.width)
    columns = {
        name: column.reshape(*shape, *column.shape[1:])
        for name, column in _columns(layout, wanted, dtype).items()
    }
    return EncodedBatch(
        columns, layout.offsets, layout.rows.samples if wanted.overflowing else None
    )


def _columns(layout: Layout, wanted: Wanted, dtype: DTypeLike) -> dict[str, NDArray[Any]]:
    _check_range([*layout.fixed_ids, layout.pad_id], dtype)
    columns = {"ids": layout.column("ids", dtype)}
    asked = {
        **dict.fromkeys(layout.sides[0].columns, True),
        "type_ids": wanted.type_ids,
        "special_mask": wanted.special_mask,
        "attention_mask": wanted.attention_mask,
    }
    return columns | {name: layout.column(name) for name, is_asked in asked.items() if is_asked}


def _check_range(ids: list[int], dtype: DTypeLike) -> None:
    most = np.iinfo(np.dtype(dtype)).max
    if max(ids) > most:
        raise DtypeError(
            f"dtype: {np.dtype(dtype)} holds ids up to {most}, got {max(ids)} for the special "
            "tokens or for pad_id",
            hint=Hint("use {}", Option("dtype", "uint32")),
        )


def _refuse_longer(layout: Layout) -> None:
    totals = layout.rows.totals
    row = int(np.argmax(totals)) if len(totals) else 0
    if len(totals) and totals[row] > layout.width:
        raise EncodeError(
            f"expected a row of at most {layout.width} tokens, got one of {totals[row]}",
            document=int(layout.rows.samples[row]),
            hint="truncation='longest_first' cuts rows to max_length",
        )
