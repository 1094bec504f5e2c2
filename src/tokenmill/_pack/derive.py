"""What a trainer wants to know of rows, derived from the borders of their pieces.

Everything is a table with one line a row and `width` columns (the context length), except
`cu_seqlens`. Columns behind the last token of a row are padding.
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

    pad_rows([7, 8, 9], rows of 2 and 1 tokens, 2, 0) -> [[7, 8], [9, 0]]   (as arrays)
    """
    is_token = _is_token(pieces, width)
    if is_token.size == len(values):  # the common case: no row is short
        return np.asarray(values, dtype).reshape(is_token.shape)
    table = np.full(is_token.shape, fill, dtype)
    table[is_token] = values
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


def attention_mask(pieces: Pieces, width: int) -> NDArray[np.int64]:
    """Return 1 on tokens and 0 on padding."""
    return _is_token(pieces, width).astype(np.int64)


def cu_seqlens(pieces: Pieces, width: int | None = None) -> NDArray[np.int32]:
    """Return where each piece begins when all rows are laid back to back, and where the last ends.

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
    shifted: bool = False,
    ignore_index: int = IGNORE_INDEX,
) -> NDArray[np.int64]:
    """Return what a model shall predict; `ids` are the tokens of all pieces, back to back.

    As `transformers` wants it, column `i` is the token at `i`, for the model shifts by itself; the
    first token of each piece is ignored, since nothing before it in its document stands in the row.
    With `shifted`, column `i` is the token behind `i`, and the last token of each piece has none.
    Padding is ignored. No label ever reaches over the border of a document.
    """
    flat = np.array(ids, np.int64)
    if shifted:
        flat = np.concatenate((flat[1:], flat[:1]))
        border = np.cumsum(pieces.lengths)[pieces.lengths > 0] - 1
    else:
        border = _starts(pieces)[pieces.lengths > 0]
    flat[border] = ignore_index
    return pad_rows(flat, pieces, width, ignore_index)


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
