"""Ids of documents -> rows of one length: the stream of all documents, or each by itself.

No loop over tokens or rows: a table of rows is a view or one copy of the flat ids. A copy has a
limit, since short documents and large overlaps make many more tokens of rows than of text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._errors import OptionError
from tokenmill._pack import gather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_MOST_TOKENS = 1 << 22  # of a table that is a copy


@dataclass(frozen=True)
class Table:
    """Rows of ids, one a line.

    `lengths` are the tokens of each row without padding, `repeats` how many of its first tokens
    stand at the end of the row before it, too. `documents`, where rows keep to their document,
    is the number of each row's document in its batch.
    """

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    repeats: NDArray[np.int64]
    documents: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_full(self) -> bool:
        """Say whether no row has padding."""
        return bool((self.lengths == self.ids.shape[1]).all())

    def some_rows(self, begin: int, end: int) -> Table:
        """Return rows `begin` to `end`."""
        documents = None if self.documents is None else self.documents[begin:end]
        rows = slice(begin, end)
        return Table(self.ids[rows], self.lengths[rows], self.repeats[rows], documents)


@dataclass(frozen=True)
class Shape:
    """How rows are cut; `pad_id` None means that no row may be short."""

    context_length: int
    overlap: int = 0
    tail: str = "pad"
    pad_id: int | None = None

    @property
    def stride(self) -> int:
        """How far a row begins behind the one before it."""
        return self.context_length - self.overlap

    def steps(self, rows: int) -> Iterator[slice]:
        """Yield the rows that are copied at a time."""
        step = max(1, _MOST_TOKENS // self.context_length)
        return (slice(begin, begin + step) for begin in range(0, rows, step))


class StreamCutter:
    """Cuts the stream of all documents; what does not fill a row waits for the next batch."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._rest = np.empty(0, np.int32)
        self._is_first = True
        self.dropped = 0

    def feed(self, ids: NDArray[np.uint32]) -> Iterator[Table]:
        """Take the next ids of the stream; yield the rows that are full now."""
        size, stride = self._shape.context_length, self._shape.stride
        rest, new = self._rest, ids.view(np.int32)
        # Rows that begin in the rest need a copy of it and of what follows; the others do not.
        begun = -(-len(rest) // stride)
        reach = (begun - 1) * stride + size - len(rest)  # ids that the last of them needs
        if begun and reach > len(new):
            yield from self._cut(np.concatenate((rest, new)))
            return
        if begun:
            yield from self._cut(np.concatenate((rest, new[:reach])))
        yield from self._cut(new[begun * stride - len(rest) :])

    def _cut(self, stream: NDArray[np.int32]) -> Iterator[Table]:
        """Yield the full rows of a stream; what they leave is the rest."""
        shape = self._shape
        count = max(0, (len(stream) - shape.context_length) // shape.stride + 1)
        self._rest = stream[count * shape.stride :].copy()  # not a view that keeps all of it
        for rows in _full_rows(stream, count, shape):
            yield self._table(rows, np.full(len(rows), shape.context_length, np.int64))

    def finish(self) -> Table:
        """Return the last, short row, if the tail is kept; else count it."""
        shape = self._shape
        shared = 0 if self._is_first else shape.overlap
        rest, self._rest = self._rest, np.empty(0, np.int32)
        if len(rest) <= shared or shape.tail == "drop":
            self.dropped += max(0, len(rest) - shared)
            return self._table(np.empty((0, shape.context_length), np.int32), _NONE)
        row = np.full((1, shape.context_length), _padding(shape), np.int32)
        row[0, : len(rest)] = rest
        return self._table(row, np.array([len(rest)], np.int64))

    def _table(self, rows: NDArray[np.int32], lengths: NDArray[np.int64]) -> Table:
        repeats = np.full(len(rows), self._shape.overlap, np.int64)
        if self._is_first and len(rows):
            repeats[0] = 0
            self._is_first = False
        return Table(rows, lengths, repeats)


def _full_rows(stream: NDArray[np.int32], count: int, shape: Shape) -> Iterator[NDArray[np.int32]]:
    size = shape.context_length
    if count == 0:
        return
    if shape.overlap == 0:
        yield stream[: count * size].reshape(count, size)
        return
    windows = np.lib.stride_tricks.sliding_window_view(stream, size)[:: shape.stride][:count]
    for some in shape.steps(count):
        yield np.ascontiguousarray(windows[some])


class DocumentCutter:
    """Cuts every document by itself; all windows of a document but the last are full."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.dropped = 0

    def feed(self, ids: NDArray[np.uint32], lengths: NDArray[np.int64]) -> Iterator[Table]:
        """Yield the rows of documents that lie back to back in `ids`."""
        shape = self._shape
        counts = window_counts(lengths, shape)
        documents = np.repeat(np.arange(len(lengths)), counts)
        places = np.arange(len(documents)) - np.repeat(np.cumsum(counts) - counts, counts)
        inside = places * shape.stride
        row_lengths = np.minimum(shape.context_length, lengths[documents] - inside)
        repeats = np.where(places > 0, shape.overlap, 0)
        begins = (np.cumsum(lengths) - lengths)[documents] + inside
        if shape.tail == "drop":
            kept = row_lengths == shape.context_length
            self.dropped += int((row_lengths - repeats)[~kept].sum())
            documents, begins = documents[kept], begins[kept]
            row_lengths, repeats = row_lengths[kept], repeats[kept]
        for some in shape.steps(len(begins)):
            rows = _gathered(ids, begins[some], row_lengths[some], shape)
            yield Table(rows, row_lengths[some], repeats[some], documents[some])


def window_counts(lengths: NDArray[np.int64], shape: Shape) -> NDArray[np.int64]:
    """Return how many windows documents of these lengths have.

    window_counts([0, 4, 5, 7], Shape(4, overlap=1)) -> [0, 1, 2, 2]   (as arrays)
    """
    more = -(-(lengths - shape.overlap) // shape.stride)
    return np.where(lengths <= shape.context_length, np.minimum(lengths, 1), more)


def _gathered(
    ids: NDArray[np.uint32], begins: NDArray[np.int64], lengths: NDArray[np.int64], shape: Shape
) -> NDArray[np.int32]:
    """Lay windows out as a table, in one copy where all are full."""
    flat = np.empty(int(lengths.sum()), np.uint32)
    gather([ids], np.zeros(len(begins), np.int32), begins, lengths, flat)
    size = shape.context_length
    if len(flat) == len(begins) * size:
        return flat.view(np.int32).reshape(len(begins), size)
    table = np.full((len(begins), size), _padding(shape), np.int32)
    table[np.arange(size) < lengths[:, None]] = flat.view(np.int32)
    return table


def _padding(shape: Shape) -> int:
    if shape.tail == "carry":
        return 0  # cut off again before anybody sees it
    if shape.pad_id is None:
        raise OptionError(
            "a row is short, and the tokenizer names neither a padding token nor EOS",
            where="pad",
            hint='name a token with pad=, or choose tail="drop" or "carry"',
        )
    return shape.pad_id


_NONE = np.empty(0, np.int64)
