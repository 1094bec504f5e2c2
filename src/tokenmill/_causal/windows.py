"""Ids of documents -> rows of one length: the stream of all documents, or each one alone.

No loop over tokens or rows: a table of rows is a view or one copy of the flat ids. A copy has a
limit, since short documents and large overlaps make many more tokens of rows than of text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._errors import OptionError
from tokenmill._pack import ConcatStream, Pieces, gather, pad_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tokenmill._pack.packer import Tail

_MOST_TOKENS = 1 << 22  # of a table


@dataclass(frozen=True)
class Table:
    """Rows of ids, one per line.

    `lengths` are the tokens of each row without padding, `repeats` how many of its first tokens
    are also at the end of the row before it. If rows keep to their document, `documents` is the
    number of each row's document in its batch.
    """

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    repeats: NDArray[np.int64]
    documents: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_full(self) -> bool:
        """Whether no row has padding."""
        return bool((self.lengths == self.ids.shape[1]).all())

    @property
    def pieces(self) -> Pieces:
        """The borders of the rows: one piece each, since their labels reach across documents."""
        return Pieces.one_a_row(self.lengths)

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
    tail: Tail = "pad"
    pad_id: int | None = None

    @property
    def stride(self) -> int:
        """How many tokens after the start of a row the next one starts."""
        return self.context_length - self.overlap

    @property
    def rows_at_once(self) -> int:
        """How many rows a table has at most."""
        return max(1, _MOST_TOKENS // self.context_length)


class StreamCutter:
    """Cuts the stream of all documents; tokens that fill no row wait for the next batch.

    ConcatStream decides which ids are in which row; to it, a batch is a document. This holds the
    ids that later rows need.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._stream = ConcatStream(shape.context_length, shape.overlap, tail=shape.tail)
        self._batches: list[NDArray[np.uint32]] = []
        self._cut_off = 0  # ids at the start of the first batch that no row needs any more
        self._is_first = True

    @property
    def dropped(self) -> int:
        """The tokens of a last row that was too short."""
        return self._stream.dropped

    def feed(self, ids: NDArray[np.uint32]) -> Iterator[Table]:
        """Take the next ids of the stream; yield the rows that are full now."""
        self._batches.append(ids)
        self._stream.add([len(ids)])
        newest = len(self._batches) - 1
        while (pieces := self._stream.full_rows(most=self._shape.rows_at_once)).rows:
            # Rows that start in the newest batch lie in it as a whole, and come last.
            first_pieces = pieces.documents[pieces.row_pieces[:-1]]
            older = int(np.searchsorted(first_pieces, newest))
            if older:
                yield self._table(self._copied(pieces.some_rows(0, older)))
            if older < pieces.rows:
                yield self._table(self._inside(ids, pieces.some_rows(older, pieces.rows)))
        self._forget()

    def finish(self) -> Table:
        """Return the last, short row; no row if there is none or the tail is dropped."""
        pieces = self._stream.finish()
        return self._table(self._copied(pieces), pieces.row_lengths)

    def _forget(self) -> None:
        """Give up ids that no later row needs."""
        gone, rest = self._stream.forget()
        del self._batches[:gone]
        before, self._cut_off = (0 if gone else self._cut_off), int(rest.begins[:1].sum())
        if self._cut_off > before:  # a copy, since a view would keep the whole batch in memory
            self._batches[0] = self._batches[0][self._cut_off - before :].copy()

    def _inside(self, ids: NDArray[np.uint32], pieces: Pieces) -> NDArray[np.int32]:
        """Return full rows that lie in one batch: a view of it, also if they overlap."""
        width = self._shape.context_length
        run = ids[pieces.begins[0] : pieces.begins[-1] + width].view(np.int32)
        return np.lib.stride_tricks.sliding_window_view(run, width)[:: self._shape.stride]

    def _copied(self, pieces: Pieces) -> NDArray[np.int32]:
        begins = pieces.begins - np.where(pieces.documents == 0, self._cut_off, 0)
        return _gathered(self._batches, replace(pieces, begins=begins), self._shape)

    def _table(self, ids: NDArray[np.int32], lengths: NDArray[np.int64] | None = None) -> Table:
        rows, width = ids.shape
        repeats = np.full(rows, self._shape.overlap, np.int64)
        if self._is_first and rows:
            repeats[0] = 0
            self._is_first = False
        return Table(ids, np.full(rows, width, np.int64) if lengths is None else lengths, repeats)


class DocumentCutter:
    """Cuts every document alone; all windows of a document but the last are full."""

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
        step = shape.rows_at_once
        for some in (slice(begin, begin + step) for begin in range(0, len(begins), step)):
            borders = np.arange(len(begins[some]) + 1)
            pieces = Pieces(borders[:-1] * 0, begins[some], row_lengths[some], borders)
            rows = _gathered([ids], pieces, shape)
            yield Table(rows, row_lengths[some], repeats[some], documents[some])


def window_counts(lengths: NDArray[np.int64], shape: Shape) -> NDArray[np.int64]:
    """Return how many windows documents of these lengths have.

    window_counts([0, 4, 5, 7], Shape(4, overlap=1)) -> [0, 1, 2, 2]   (as arrays)
    """
    more = -(-(lengths - shape.overlap) // shape.stride)
    return np.where(lengths <= shape.context_length, np.minimum(lengths, 1), more)


def _gathered(
    sources: Sequence[NDArray[np.uint32]], pieces: Pieces, shape: Shape
) -> NDArray[np.int32]:
    """Copy rows out of sources into a table; a piece's document is the number of its source."""
    flat = np.empty(int(pieces.lengths.sum()), np.uint32)
    gather(sources, pieces.documents, pieces.begins, pieces.lengths, flat)
    width = shape.context_length
    fill = 0 if len(flat) == pieces.rows * width else _padding(shape)
    return pad_rows(flat.view(np.int32), pieces, width, fill, "int32")


def _padding(shape: Shape) -> int:
    if shape.tail == "carry":
        return 0  # cut off again before anybody sees it
    if shape.pad_id is None:
        raise OptionError(
            "a row is short, and the tokenizer has neither a padding token nor EOS",
            where="pad",
            hint='name a token with pad=, or choose tail="drop" or "carry"',
        )
    return shape.pad_id
