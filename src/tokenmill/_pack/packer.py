"""Packer: the ways to pack, their options, and the call into the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tokenmill import _core
from tokenmill._checks import one_of, whole_number
from tokenmill._errors import OptionError
from tokenmill._pack.rows import Pieces

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Strategy: TypeAlias = Literal["concat", "bestfit", "bos-bestfit-crop", "pad", "none"]
Long: TypeAlias = Literal["split", "truncate", "drop"]
Tail: TypeAlias = Literal["carry", "pad", "drop"]
STRATEGIES: tuple[Strategy, ...] = ("concat", "bestfit", "bos-bestfit-crop", "pad", "none")
_LONG: tuple[Long, ...] = ("split", "truncate", "drop")  # in the order of the core
_TAILS: tuple[Tail, ...] = ("carry", "pad", "drop")
_CUTS_LONG = ("bestfit", "pad")
_LEAVES_A_TAIL = ("concat", "bos-bestfit-crop")


class Packer:
    """A way to put documents into rows of `context_length` tokens.

    `concat` cuts rows from the stream of all documents, one after the other; each row starts with
    the last `overlap` tokens of the row before.
    `bestfit` is best-fit decreasing: documents longer than a row are cut by `long`, then all
    pieces, from long to short (ties: document, then place in it), go into the fullest row that
    still takes them (ties: the row that was filled last).
    `bos-bestfit-crop` fills each row with the longest document that fits, of all documents that
    are left; if none fits, the shortest that is left (ties: the first) fills the row exactly,
    and the rest of it is dropped. So every row starts with the start of a document, and only the
    row filled last can be short.
    `pad` puts one document into a row; `long` decides about longer ones.
    `none` puts one document into a row, whatever its length, even without tokens; with the other
    strategies a document without tokens is in no row.

    `long`, for `bestfit` and `pad`: "split" cuts a document into full rows and a remainder,
    "truncate" keeps as much as fits a row, "drop" drops it. `tail`, for `concat` and
    `bos-bestfit-crop`: "carry" and "pad" keep the short row at the end (the writer adds the
    padding), "drop" drops it.
    Rows are in the order of their first pieces. Pieces of a row are in the order of documents; with
    `bos-bestfit-crop`, in the order of filling.
    """

    __slots__ = ("context_length", "long", "overlap", "strategy", "tail")

    def __init__(
        self,
        strategy: Strategy,
        context_length: int | None = None,
        *,
        overlap: int = 0,
        long: Long = "split",
        tail: Tail = "carry",
    ) -> None:
        self.strategy = one_of("strategy", strategy, STRATEGIES)
        self.long = one_of("long", long, _LONG)
        self.tail = one_of("tail", tail, _TAILS)
        self.overlap = whole_number("overlap", overlap, least=0)
        self.context_length = _context_length(strategy, context_length)
        self._refuse_options_without_meaning()

    def pack(self, lengths: ArrayLike) -> Pieces:
        """Return the rows for documents of these lengths.

        Packer("concat", 4).pack([3, 4]).row_pieces -> array([0, 2, 3])
        """
        numbers = _lengths(lengths)
        if self.context_length is None:
            return _pieces(_core.pack_documents(numbers))
        size, long = self.context_length, _LONG.index(self.long)
        drops = self.tail == "drop"
        if self.strategy == "concat":
            return _pieces(_core.pack_concat(numbers, size, self.overlap, drops))
        if self.strategy == "bestfit":
            return _pieces(_core.pack_best_fit(numbers, size, long))
        if self.strategy == "pad":
            return _pieces(_core.pack_one_per_row(numbers, size, long))
        return _pieces(_core.pack_best_fit_crop(numbers, size, drops))

    @property
    def fills_rows(self) -> bool:
        """Whether short rows are padded even by formats that could store them short."""
        return self.strategy != "concat" or self.tail == "pad"

    def __repr__(self) -> str:
        options = f"overlap={self.overlap}, long={self.long!r}, tail={self.tail!r}"
        return f"Packer({self.strategy!r}, {self.context_length}, {options})"

    def _refuse_options_without_meaning(self) -> None:
        only = "is only for"
        if self.overlap and self.strategy != "concat":
            raise OptionError(f"overlap {only} 'concat', got {self.strategy!r}")
        if self.context_length is not None and self.overlap >= self.context_length:
            problem = f"expected less than the context length {self.context_length}"
            raise OptionError(f"{problem}, got {self.overlap}", where="overlap")
        if self.long != "split" and self.strategy not in _CUTS_LONG:
            wanted = " and ".join(map(repr, _CUTS_LONG))
            raise OptionError(
                f"{self.long!r} for long documents {only} {wanted}, got {self.strategy!r}"
            )
        if self.tail == "drop" and self.strategy not in _LEAVES_A_TAIL:
            wanted = " and ".join(map(repr, _LEAVES_A_TAIL))
            raise OptionError(f"tail='drop' {only} {wanted}, got {self.strategy!r}")


@dataclass(frozen=True)
class ConcatShape:
    """How many rows `concat` cuts from a stream, and how many tokens it drops and repeats."""

    rows: int
    dropped: int
    repeated: int


def concat_shape(
    tokens: int, context_length: int, overlap: int = 0, *, tail: str = "carry"
) -> ConcatShape:
    """Return the shape of the rows of a stream, computed from its length.

    concat_shape(10, 4) -> ConcatShape(rows=3, dropped=0, repeated=0)
    """
    stride = context_length - overlap
    rows = min(tokens, 1) if tokens <= context_length else -(-(tokens - overlap) // stride)
    dropped = 0
    if tail == "drop" and rows and (rows - 1) * stride + context_length > tokens:
        rows -= 1
        dropped = tokens - (rows * stride + overlap if rows else 0)
    return ConcatShape(rows, dropped, max(rows - 1, 0) * overlap)


def concat_rows(  # noqa: PLR0917 -- the place in the stream, then the cut
    lengths: ArrayLike,
    stream_begin: int,
    row_begin: int,
    row_end: int,
    context_length: int,
    overlap: int = 0,
) -> Pieces:
    """Return rows `row_begin` to `row_end` of the stream that `concat` cuts.

    `lengths` are those of the documents from token `stream_begin` of the stream on; they are
    numbered from 0. OptionError if one of the rows lies outside of them. `repeated` counts the
    tokens that these rows share with the ones before them; `dropped` is 0, because other rows may
    hold the rest.

        concat_rows([4, 5], 3, 1, 3, 4).lengths -> array([3, 1, 4])
    """
    numbers = _lengths(lengths)
    return _pieces(
        _core.pack_concat_rows(numbers, stream_begin, row_begin, row_end, context_length, overlap)
    )


def _pieces(parts: tuple[Any, ...]) -> Pieces:
    documents, begins, lengths, row_pieces, dropped, repeated = parts
    return Pieces(documents, begins, lengths, row_pieces, dropped, repeated)


def _lengths(lengths: ArrayLike) -> NDArray[np.int64]:
    numbers = np.asarray(lengths)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        problem = f"expected a list of whole numbers, got {numbers.ndim}-d {numbers.dtype}"
        raise OptionError(problem, where="lengths")
    return np.ascontiguousarray(numbers, np.int64)


def _context_length(strategy: str, context_length: object) -> int | None:
    if strategy == "none":
        if context_length is not None:
            problem = (
                f"expected None with 'none', which keeps documents whole, got {context_length}"
            )
            raise OptionError(problem, where="context_length")
        return None
    return whole_number("context_length", context_length)
