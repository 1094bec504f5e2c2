"""Decoding while the ids arrive: one stream, or many of them side by side."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokenmill._calls.options import ids_of
from tokenmill._checks import whole_number
from tokenmill._errors import OptionError, UnknownId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray


class Stream(Protocol):
    """One decoding in pieces, by any of the decoders."""

    def push(self, token_id: int) -> str:
        """Take one id and return the text that became certain."""

    def push_many(self, ids: NDArray[np.uint32]) -> str:
        """Take many ids and return the text that became certain."""

    def finish(self) -> str:
        """Return what was held back."""


class DecodeStream:
    """Text of ids as they come, never half a character. Made by `Tokenizer.decode_stream`.

    All that `push` and `finish` return, joined, is what `decode` returns for all ids. A push takes
    the same time however many ids came before. Text that the next id could still change is
    held back: an incomplete character, a run of byte tokens, blanks that the decoder may strip.
    A stream is for one thread at a time; many threads may have streams of one tokenizer.
    """

    __slots__ = ("_make", "_stream")

    def __init__(self, make: Callable[[], Stream]) -> None:
        self._make = make
        self._stream = make()

    def push(self, token_id: int) -> str:
        """Take the next id and return the text that became certain, which may be empty."""
        return self._stream.push(_id_of(token_id))

    def push_many(self, ids: ArrayLike) -> str:
        """Take the next ids and return the text that became certain."""
        return self._stream.push_many(ids_of(ids))

    def finish(self) -> str:
        """Return the rest of the text; the stream is as new afterwards."""
        rest = self._stream.finish()
        self._stream = self._make()
        return rest


class DecodeStreams:
    """Many streams, each with a state of its own. Made by `Tokenizer.decode_streams`."""

    __slots__ = ("_streams",)

    def __init__(self, make: Callable[[], Stream], count: int) -> None:
        count = whole_number("n", count, least=0)
        self._streams = [DecodeStream(make) for _ in range(count)]

    def __len__(self) -> int:
        return len(self._streams)

    def push(self, ids: ArrayLike, streams: Iterable[int] | None = None) -> list[str]:
        """Take one id for every stream, or for those named; return what became certain in each."""
        chosen = self._chosen(streams)
        row = ids_of(ids).tolist()
        if len(row) != len(chosen):
            raise OptionError(
                f"ids: expected one for each of {len(chosen)} streams, got {len(row)}",
                hint="streams= names those that have a new id",
            )
        return [stream.push(token_id) for stream, token_id in zip(chosen, row, strict=True)]

    def finish(self, streams: Iterable[int] | None = None) -> list[str]:
        """Return the rest of every stream, or of those named, which are as new afterwards."""
        return [stream.finish() for stream in self._chosen(streams)]

    def _chosen(self, streams: Iterable[int] | None) -> Sequence[DecodeStream]:
        if streams is None:
            return self._streams
        numbers = list(streams)
        for number in numbers:
            if not isinstance(number, (int, np.integer)) or not 0 <= number < len(self._streams):
                raise OptionError(
                    f"streams: expected numbers below {len(self._streams)}, got {number!r}"
                )
        return [self._streams[number] for number in numbers]


def _id_of(token_id: int) -> int:
    try:
        return index(token_id)
    except TypeError:
        raise UnknownId(f"expected a whole number, got {type(token_id).__name__}") from None
