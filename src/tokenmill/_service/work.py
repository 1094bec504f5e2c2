"""What a request does with its model: calls that a Stop ends, and that leave the GIL free.

A `str` is read where Python keeps it, so a long text costs the event loop nothing. Lists are
different: each of their items is touched under the GIL, so long lists go slice by slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tokenmill._calls.batch import TokenBatch
from tokenmill._core import Model, TextList
from tokenmill._errors import EncodeError, TextTooLong

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tokenmill._core import Stop

T = TypeVar("T")

BIG_TEXT = 1 << 20  # bytes from which on threads share one text
SLICE = 4096  # texts; listing them takes about 0.1 ms


def encode_big(
    model: Any, text: Any, options: tuple[Any, ...], threads: Callable[[], int], stop: Stop
) -> NDArray[np.uint32]:
    """Encode one long text with as many threads as are idle when it begins."""
    if not isinstance(model, Model):
        return model.encode(text, *options, stop)  # type: ignore[no-any-return]
    native: Any = model  # its stub cannot see through the options
    try:
        ids: NDArray[np.uint32] = native.encode_batch([text], threads(), 32, *options, stop)[0]
    except EncodeError as error:  # a single text has no number
        raise error.renumbered(None).with_traceback(error.__traceback__) from None
    return ids


def encode_texts(
    model: Any, texts: Any, options: tuple[Any, ...], threads: Callable[[], int], stop: Stop
) -> TokenBatch:
    """Encode many texts, long lists slice by slice."""
    if not isinstance(texts, (list, tuple)) or len(texts) <= SLICE:
        return TokenBatch(*model.encode_batch(texts, threads(), 32, *options, stop))
    parts: list[NDArray[np.uint32]] = []
    offsets = [np.zeros(1, np.int64)]
    total = 0
    for begin in range(0, len(texts), SLICE):
        try:
            ids, ends = model.encode_batch(
                texts[begin : begin + SLICE], threads(), 32, *options, stop
            )
        except EncodeError as error:
            raise _moved(error, begin) from None
        parts.append(ids)
        offsets.append(ends[1:] + total)
        total += len(ids)
    return TokenBatch(np.concatenate(parts), np.concatenate(offsets))


def measured_first(call: Callable[[Stop], T], texts: Any, limit: int, stop: Stop) -> T:
    """Count the bytes of texts before the work; TextTooLong if there are more than `limit`."""
    size = 0
    is_list = isinstance(texts, (list, tuple))
    for begin in range(0, len(texts) if is_list else 1, SLICE):
        part = texts[begin : begin + SLICE] if is_list else texts
        try:
            size += int(TextList(part, 1).offsets[-1])
        except EncodeError as error:  # not a text
            raise _moved(error, begin) from None
        if size > limit:
            raise too_long(size, limit)
        stop.check()
    return call(stop)


def _moved(error: EncodeError, begin: int) -> EncodeError:
    """Return the error of a text in a slice, with its number in the list."""
    if error.document is None or not begin:
        return error
    return error.renumbered(error.document + begin).with_traceback(error.__traceback__)


def with_stop(call: Callable[..., T], stop: Stop) -> T:
    """Pass the Stop by name."""
    return call(stop=stop)


def without_stop(call: Callable[[], T], stop: Stop) -> T:
    """Run what cannot be stopped, unless it is too late already."""
    stop.check()
    return call()


def too_long(size: int, limit: int) -> TextTooLong:
    """Return the error of a request above `max_text_bytes`."""
    return TextTooLong(
        f"{size} bytes of text are too many, the limit is {limit}",
        size=size,
        limit=limit,
        hint="send less text, or raise max_text_bytes",
    )
