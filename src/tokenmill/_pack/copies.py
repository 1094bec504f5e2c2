"""The two copies of ids: BOS and EOS around documents, and pieces into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import _core
from tokenmill._errors import DtypeError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_DTYPES = (np.dtype(np.uint16), np.dtype(np.uint32))


def frame(
    ids: NDArray[Any],
    offsets: NDArray[np.int64],
    prefix: Sequence[int] = (),
    suffix: Sequence[int] = (),
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Put ids around each document of a flat batch; return the ids and the documents' lengths.

    `ids` are uint16 or uint32 and stay so; document `i` is `ids[offsets[i]:offsets[i + 1]]`.

        frame([7, 8, 9], [0, 2, 3], suffix=[0]) -> [7, 8, 0, 9, 0], [3, 2]   (as arrays)
    """
    _check_dtype("ids", ids)
    largest = int(np.iinfo(ids.dtype).max)
    wrong = next((i for i in (*prefix, *suffix) if not 0 <= i <= largest), None)
    if wrong is not None:
        raise DtypeError(f"{ids.dtype} holds ids from 0 to {largest}, got {wrong}", where="frame")
    framed, lengths = _core.frame(np.ascontiguousarray(ids), offsets, list(prefix), list(suffix))
    return framed, lengths


def gather(
    sources: Sequence[NDArray[Any]],
    source: ArrayLike,
    begin: ArrayLike,
    length: ArrayLike,
    out: NDArray[Any],
) -> int:
    """Copy pieces into `out`, back to back, and return how many ids that were.

    Piece `i` is `sources[source[i]][begin[i] : begin[i] + length[i]]`. Sources (memory maps too)
    and `out` are all uint16 or all uint32. If a piece lies outside of its source, or the pieces
    outside of `out`, OptionError is raised before anything is written.
    """
    _check_dtype("out", out)
    wrong = next((s.dtype for s in sources if s.dtype != out.dtype), None)
    if wrong is not None:
        raise DtypeError(f"expected sources of {out.dtype} like out, got {wrong}", where="gather")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise OptionError("expected an array that is contiguous and writeable", where="out")
    plain = [np.asarray(s) for s in sources]
    return _core.gather(
        plain,
        np.ascontiguousarray(source, np.int32),
        np.ascontiguousarray(begin, np.int64),
        np.ascontiguousarray(length, np.int64),
        out,
    )


def _check_dtype(name: str, array: NDArray[Any]) -> None:
    if array.ndim != 1 or array.dtype not in _DTYPES:
        problem = f"expected one dimension of uint16 or uint32, got {array.ndim} of {array.dtype}"
        raise DtypeError(problem, where=name)
