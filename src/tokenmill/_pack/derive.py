"""Rows -> the tables that a trainer needs, derived from the borders of their pieces.

Everything is a table with one line per row and `width` columns (the context length), except
`cu_seqlens`. Columns after the last token of a row are padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._pack.rows import Pieces

IGNORE_INDEX = -100


def pad_rows(
    values: NDArray[Any], pieces: Pieces, width: int, fill: int, dtype: str = "int64"
) -> NDArray[Any]:
    """Lay one value for each token (all pieces, back to back) out as a table.

    `values` may also be such a table already: its padding is overwritten, in a copy. If no row is
    short and the type is the same, the result is a view of `values`.

        pad_rows([7, 8, 9], rows of 2 and 1 tokens, 2, 0) -> [[7, 8], [9, 0]]   (as arrays)
    """
    lengths = _row_lengths(pieces, width)
    short = np.flatnonzero(lengths < width)
    if not len(short):  # the common case
        return np.asarray(values, dtype).reshape(len(lengths), width)
    if values.ndim == 1:
        table = np.full((len(lengths), width), fill, dtype)
        table[np.arange(width) < lengths[:, None]] = values
        return table
    table = np.array(values, dtype)
    rows = table[short]
    rows[np.arange(width) >= lengths[short, None]] = fill
    table[short] = rows
    return table


def position_ids(
    pieces: Pieces, width: int, *, continue_documents: bool = False
) -> NDArray[np.int64]:
    """Return each token's place in its piece, or in its document; 0 on padding."""
    flat = _places(pieces)
    if continue_documents:
        flat = flat + np.repeat(pieces.begins, pieces.lengths)
    return pad_rows(flat, pieces, width, 0)


def segment_ids(pieces: Pieces, width: int) -> NDArray[np.int32]:
    """Return the number of each token's piece in its row, from 1; 0 on padding."""
    first = np.repeat(pieces.row_pieces[:-1], np.diff(pieces.row_pieces))
    numbers = np.arange(len(pieces.lengths)) - first + 1
    return pad_rows(np.repeat(numbers, pieces.lengths), pieces, width, 0, "int32")


def attention_mask(pieces: Pieces, width: int, dtype: str = "int64") -> NDArray[Any]:
    """Return 1 on tokens and 0 on padding."""
    mask = _is_token(pieces, width)
    return mask.view(np.int8) if dtype == "int8" else mask.astype(dtype)


def cu_seqlens(pieces: Pieces, width: int | None = None) -> NDArray[np.int32]:
    """Return the start of each piece when all rows lie back to back, and the end of the last.

    With `width` the rows are padded to it, and the padding of a row is a piece of its own, so that
    the last number is the number of columns of all rows.

        rows of (3, 4) and (2,) tokens -> [0, 3, 7, 9]; with width 8: [0, 3, 7, 8, 10, 16]
    """
    lengths = pieces.lengths
    if width is not None:
        padding = width - _row_lengths(pieces, width)
        short = np.flatnonzero(padding)
        lengths = np.insert(lengths, pieces.row_pieces[short + 1], padding[short])
    ends = np.cumsum(lengths[lengths > 0])
    if len(ends) and ends[-1] > np.iinfo(np.int32).max:
        raise OptionError(f"expected less than 2^31 tokens, got {ends[-1]}", where="cu_seqlens")
    return np.concatenate((np.zeros(1, np.int32), ends.astype(np.int32)))


def labels(
    ids: NDArray[Any],
    pieces: Pieces,
    width: int,
    *,
    across_documents: bool = False,
    shifted: bool = False,
    repeats: NDArray[np.int64] | None = None,
    ignore_index: int = IGNORE_INDEX,
    dtype: str = "int64",
) -> NDArray[Any]:
    """Return the tokens that a model learns to predict.

    `ids` are those of all pieces, back to back, or a table of them with padding.
    For models of `transformers`, which shift by themselves, column `i` is the token at `i`. With
    `shifted`, column `i` is the token after `i`. Padding gets `ignore_index`.

    `across_documents` decides about the borders inside a row. Without it no label reaches over
    the border of a document: the first token of each piece is ignored, because the row holds
    nothing of its document before it. This fits attention that stops at the border, and it is
    what PackedDataset returns. With it a row is one text: the first token of a document is
    predicted from the end of the document before it, so that unshifted labels are the ids. This
    is what scripts that group texts do, and what CausalLMTokenizer returns.

    `repeats` is how many tokens at the start of each row are also in the row before: they are
    ignored. If nothing is ignored and the type is the same, the result is a view of `ids`.
    """
    values = ids
    if shifted or not across_documents:
        tokens = ids[_is_token(pieces, width)] if ids.ndim > 1 else ids
        values = np.array(np.concatenate((tokens[1:], tokens[:1])) if shifted else tokens, dtype)
        borders = _borders(pieces, across_documents=across_documents, shifted=shifted)
        values[borders] = ignore_index
    table = pad_rows(values, pieces, width, ignore_index, dtype)
    repeated = 0 if repeats is None else int(repeats.max(initial=0)) - shifted
    if repeats is not None and repeated > 0:
        table = table.copy() if np.may_share_memory(table, ids) else table
        starts = table[:, :repeated]
        starts[np.arange(repeated) < repeats[:, None] - shifted] = ignore_index
    return table


def _borders(pieces: Pieces, *, across_documents: bool, shifted: bool) -> NDArray[np.int64]:
    """Return the tokens with no token to be predicted from or, if shifted, none to predict."""
    lengths = pieces.row_lengths if across_documents else pieces.lengths
    ends = np.cumsum(lengths)[lengths > 0]
    return ends - 1 if shifted else ends - lengths[lengths > 0]


def _starts(pieces: Pieces) -> NDArray[np.int64]:
    return np.cumsum(pieces.lengths) - pieces.lengths


def _places(pieces: Pieces) -> NDArray[np.int64]:
    total = int(pieces.lengths.sum())
    return np.arange(total) - np.repeat(_starts(pieces), pieces.lengths)


def _is_token(pieces: Pieces, width: int) -> NDArray[np.bool_]:
    return np.arange(width) < _row_lengths(pieces, width)[:, None]


def _row_lengths(pieces: Pieces, width: int) -> NDArray[np.int64]:
    lengths = pieces.row_lengths
    if len(lengths) and lengths.max() > width:
        problem = f"expected rows of at most {width} tokens, got one of {lengths.max()}"
        raise OptionError(problem, where="width")
    return lengths
