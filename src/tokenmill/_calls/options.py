"""Options of calls -> what the core takes, or an error that names the choices."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.batch import TokenBatch
from tokenmill._calls.threads import available
from tokenmill._checks import one_of, whole_number
from tokenmill._core import Stop, TextBuffer
from tokenmill._errors import (
    DtypeError,
    Hint,
    Option,
    OptionError,
    TextTypeError,
    UnknownId,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

SPECIAL_MODES = {"encode": 0, "text": 1, "raise": 2}
ERROR_MODES = {"strict": 0, "replace": 1}
SPAN_UNITS = {"byte": 0, "char": 1}
MAX_U16 = 0xFFFF
_BITS = {np.dtype(np.uint16): 16, np.dtype(np.uint32): 32}
_WIDE = (np.dtype(np.int64), np.dtype(np.int32))  # for rows: what models want
_MAX_ID = 0xFFFF_FFFF
_UINT32 = np.dtype(np.uint32)


def modes(special_in_text: str, errors: str) -> tuple[int, int]:
    """Turn both into the core's numbers."""
    return (
        SPECIAL_MODES[one_of("special_in_text", special_in_text, SPECIAL_MODES)],
        ERROR_MODES[one_of("errors", errors, ERROR_MODES)],
    )


def stop_of(timeout: float | None) -> Stop | None:
    """Return what ends a call after so many seconds; None: nothing does."""
    if timeout is None:
        return None
    try:
        return Stop(timeout)
    except TypeError:
        problem = f"expected seconds, 0 or more, got {timeout!r}"
        raise OptionError(problem, where="timeout") from None


def core_options(
    add_special_tokens: bool,
    special_in_text: str,
    errors: str,
    threads: int | None = None,
    timeout: float | None = None,
) -> dict[str, Any]:
    """Return the options that all calls of the core share, under the core's names."""
    special, policy = modes(special_in_text, errors)
    options: dict[str, Any] = {
        "add_special_tokens": add_special_tokens, "special_mode": special, "errors": policy,
    }  # fmt: skip
    if threads is not None:
        options["threads"] = threads
    if timeout is not None:
        options["stop"] = stop_of(timeout)
    return options


def span_unit(offsets: object) -> bool | None:
    """Return whether offsets are in characters; None if they were not asked for."""
    return None if offsets is None else bool(SPAN_UNITS[one_of("offsets", offsets, SPAN_UNITS)])


MAX_THREADS = 4096


def thread_count(threads: int | None, name: str = "threads") -> int:
    """Return what was asked for, or what this process may use."""
    if threads is None:
        return available()
    hint = "omit it to use every CPU that this process may use"
    return whole_number(name, threads, most=MAX_THREADS, hint=hint)


def limit_of(limit: int | None) -> int:
    """Return the core's limit: -1 is none."""
    if limit is None:
        return -1
    return whole_number("limit", limit, least=0, hint="None counts to the end")


def bits_of(dtype: Any, max_id: int) -> int:  # whatever numpy takes
    """Return 16 or 32; DtypeError for another type, or one that is too small for the ids."""
    try:
        bits = _BITS[np.dtype(dtype)]
    except (KeyError, TypeError) as error:
        raise DtypeError(f"dtype: expected 'uint32' or 'uint16', got {dtype!r}") from error
    if bits == 16 and max_id > MAX_U16:  # noqa: PLR2004
        raise DtypeError(
            f"dtype: uint16 holds ids up to {MAX_U16}, this tokenizer has {max_id}",
            hint=Hint("use {}", Option("dtype", "uint32")),
        )
    return bits


def row_dtype(dtype: Any, max_id: int) -> tuple[np.dtype[Any], int]:
    """Return the number type of a result in rows, and with how many bits the core makes ids."""
    with suppress(TypeError):
        if np.dtype(dtype) in _WIDE and max_id <= np.iinfo(dtype).max:
            return np.dtype(dtype), 32
    bits = bits_of(dtype, max_id)
    return np.dtype(dtype), bits


def texts_of(texts: Any, name: str = "texts") -> Any:  # anything the core takes
    """Pass on lists and Arrow arrays, list other iterables, refuse a single text."""
    if isinstance(texts, (list, tuple, TextBuffer)):
        return texts
    if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__"):
        return texts
    if isinstance(texts, (str, bytes, bytearray, memoryview)) or not hasattr(texts, "__iter__"):
        raise TextTypeError(
            f"{name}: expected a list of texts, got {type(texts).__name__}",
            hint="put a single text into a list, or use encode",
        )
    return list(texts)


def out_of(out: object, max_id: int) -> NDArray[Any]:
    """Check the array that ids are to be written into."""
    if not isinstance(out, np.ndarray):
        raise DtypeError(f"out: expected a numpy array, got {type(out).__name__}")
    bits_of(out.dtype, max_id)
    if out.ndim != 1 or not out.flags.c_contiguous or not out.flags.writeable:
        raise DtypeError(
            f"out: expected one writable row without gaps, got shape {out.shape}, "
            f"strides {out.strides}, writable {out.flags.writeable}",
            hint="numpy.empty(n, dtype)",
        )
    return out


def ids_of(ids: Any) -> NDArray[np.uint32]:  # whatever numpy takes
    """Turn a row of whole numbers into uint32; UnknownId for those that cannot be an id."""
    array = np.asarray(ids)
    if array.dtype is _UINT32 and array.ndim == 1 and array.flags.c_contiguous:
        return array  # at once: checks cost as much as decoding a sentence
    if array.ndim != 1:
        raise UnknownId(
            f"ids: expected one row of ids, got {array.ndim} dimensions",
            hint="decode_batch takes many rows",
        )
    if array.dtype == np.uint32:
        return np.ascontiguousarray(array)
    if array.size == 0:
        return np.empty(0, dtype=np.uint32)
    if array.dtype.kind not in "iu":
        raise UnknownId(f"ids: expected whole numbers, got {array.dtype}")
    worst = array.min() if array.min() < 0 else array.max()
    if not 0 <= worst <= _MAX_ID:
        raise UnknownId(f"ids: no token has the id {worst}", id=int(worst))
    return array.astype(np.uint32)


def rows_of(batch: TokenBatch | Iterable[Any]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Flatten rows of ids."""
    if isinstance(batch, TokenBatch):
        return ids_of(batch.ids), batch.offsets
    rows = [ids_of(row) for row in batch]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return np.concatenate(rows) if rows else np.empty(0, dtype=np.uint32), offsets
