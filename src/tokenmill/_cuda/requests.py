"""Small requests of several threads: those that wait for the device go there together.

A caller that finds the device free takes all that wait, with the same options, and encodes them as
one batch. A caller that finds it busy waits; its request may be done by then.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._cuda.chunks import Chunk
    from tokenmill._cuda.sinks import EncodeCall

    Result = tuple[NDArray[Any], NDArray[np.int64]]
    # Chunks and a call -> ids and offsets of all; None if each should be encoded by itself.
    EncodeTogether = Callable[[Sequence[Chunk], EncodeCall], Result | None]


class ShortRequest:
    """One caller's texts, and then their ids or an error."""

    __slots__ = ("call", "chunk", "error", "result")

    def __init__(self, chunk: Chunk, call: EncodeCall) -> None:
        self.chunk, self.call = chunk, call
        self.result: Result | None = None
        self.error: BaseException | None = None

    def goes_with(self, other: ShortRequest) -> bool:
        """Check whether both can be one batch: the options that change ids are the same."""
        mine, its = self.call, other.call
        return mine.job == its.job and mine.special is its.special and mine.cpu.like(its.cpu)


class Requests:
    """The requests of one device, encoded while its lock is held."""

    def __init__(
        self,
        lock: AbstractContextManager[Any],
        encode: EncodeTogether,
        most_bytes: int,
        most_documents: int,
    ) -> None:
        self._device = lock
        self._encode = encode
        self._most_bytes, self._most_documents = most_bytes, most_documents
        self._waiting: list[ShortRequest] = []
        self._list = threading.Lock()

    def encode(self, chunk: Chunk, call: EncodeCall) -> Result:
        """Return ids and offsets of one request."""
        request = ShortRequest(chunk, call)
        with self._list:
            self._waiting.append(request)
        with self._device:
            if request.result is None and request.error is None:
                self._run(self._take(request))
        if request.error is not None:
            raise request.error
        assert request.result is not None  # noqa: S101 -- or an error
        return request.result

    def _take(self, own: ShortRequest) -> list[ShortRequest]:
        """Take a request and those that go with it from the list, up to a batch."""
        with self._list:
            if len(self._waiting) == 1:
                self._waiting.clear()
                return [own]
            self._waiting.remove(own)
            taken, left = [own], []
            size, documents = own.chunk.size, own.chunk.end - own.chunk.begin
            for other in self._waiting:
                size_with = size + other.chunk.size
                documents_with = documents + other.chunk.end - other.chunk.begin
                fits = size_with <= self._most_bytes and documents_with <= self._most_documents
                if fits and other.goes_with(own):
                    taken.append(other)
                    size, documents = size_with, documents_with
                else:
                    left.append(other)
            self._waiting = left
        return taken

    def _run(self, requests: list[ShortRequest]) -> None:
        if len(requests) > 1:
            chunks = [request.chunk for request in requests]
            try:
                together = self._encode(chunks, requests[0].call)
            except Exception:  # each gets its own error below
                together = None
            if together is not None:
                _share(together, requests)
                return
        for request in requests:
            try:
                request.result = self._encode([request.chunk], request.call)
            except BaseException as error:  # raised by its caller
                request.error = error


def _share(together: Result, requests: list[ShortRequest]) -> None:
    """Give each request its ids; copies, so that none keeps the memory of all."""
    ids, offsets = together
    first = 0
    for request in requests:
        last = first + request.chunk.end - request.chunk.begin
        own = offsets[first : last + 1]
        request.result = (ids[own[0] : own[-1]].copy(), own - own[0])
        first = last
