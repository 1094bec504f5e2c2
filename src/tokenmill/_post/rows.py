"""Rows as a table of segments, and the passes that turn it into columns.

Each row is a sequence of segments, one for every part of the template and one for the padding. A
segment of a text is a range of the flat values of its side, and a fixed one holds what the template
says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._post.templates import SIDES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from tokenmill._post.request import Padding
    from tokenmill._post.templates import Parts
    from tokenmill._post.truncation import Windows

    Numbers = NDArray[np.int64]

_LONG = 48  # values a run from which one copy a run is faster than one gather for all


@dataclass(frozen=True)
class Column:
    """Values for each token, of any shape: `texts` has one array for each side.

    `fixed`: one value for each fixed token of the template, in order.
    """

    texts: tuple[NDArray[Any], ...]
    fixed: Sequence[int]
    pad: int


@dataclass(frozen=True)
class Rows:
    """The segments of all rows; all tables have a line for each row, a column for each segment.

    `samples[row]`: the number of the text that the row comes from; `is_first[row]`: whether it is
    the first row of it. `starts`: where segments begin in the flat values of their side, or of the
    fixed parts. `kinds`: the side of each segment, or FIXED or PAD.
    """

    samples: Numbers
    is_first: NDArray[np.bool_]
    starts: Numbers
    lengths: Numbers
    types: Numbers
    kinds: tuple[int, ...]

    @property
    def totals(self) -> Numbers:
        """Length of every row."""
        totals: Numbers = self.lengths.sum(axis=1)
        return totals

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Give every token the value of its segment; `values`: for each segment, or for all."""
        table = np.broadcast_to(values, self.lengths.shape)
        return np.repeat(table.reshape(-1), self.lengths.reshape(-1))


FIXED, PAD = 2, 3


def lay_out(parts: Parts, windows: Sequence[Windows], *, overflowing: bool) -> Rows:
    """Make the rows of all texts; with `overflowing`, of all their windows."""
    counts = [windows[SIDES.index(part.text)].counts if part.text else None for part in parts]
    n_samples = len(windows[0].lengths)
    if overflowing:
        samples, places = _all_windows(n_samples, [c for c in counts if c is not None])
    else:
        samples = np.arange(n_samples)
        places = [np.zeros(n_samples, dtype=np.int64) for count in counts if count is not None]
    shape = (len(samples), len(parts))
    starts, lengths, types = (np.empty(shape, dtype=np.int64) for _ in range(3))
    origins = [np.cumsum(side.lengths) - side.lengths for side in windows]
    fixed = 0
    numbers = iter(places)
    for column, part in enumerate(parts):
        if not part.text:
            starts[:, column], lengths[:, column] = fixed, len(part.ids)
            types[:, column] = part.type_id
            fixed += len(part.ids)
            continue
        side, number = SIDES.index(part.text), next(numbers)
        begins, lengths[:, column] = windows[side].bounds(samples, number)
        starts[:, column] = origins[side][samples] + begins
        types[:, column] = np.where(number > 0, part.overflow_type_id, part.type_id)
    is_first = np.ones(len(samples), dtype=np.bool_)
    is_first[1:] = samples[1:] != samples[:-1]
    kinds = tuple(SIDES.index(part.text) if part.text else FIXED for part in parts)
    return Rows(samples, is_first, starts, lengths, types, kinds)


def _all_windows(n_samples: int, counts: Sequence[Numbers]) -> tuple[Numbers, list[Numbers]]:
    """Combine the windows of the texts of a row, in the order of the library.

    The combinations up to a text are: those before it but the first, each with every window; then
    the first with every window but its first. The first of all is the row of the first windows.
    """
    n_rows = np.ones(n_samples, dtype=np.int64)
    before = []
    for count in counts:
        before.append(n_rows)
        n_rows = n_rows * count
    samples = np.repeat(np.arange(n_samples), n_rows)
    ends = np.cumsum(n_rows)
    place = np.arange(len(samples)) - (ends - n_rows)[samples]
    numbers = []
    for count, n_before in zip(reversed(counts), reversed(before), strict=True):
        n_windows, n_prefixed = count[samples], (n_before[samples] - 1) * count[samples]
        is_prefixed = (place > 0) & (place <= n_prefixed)
        prefix, window = np.divmod(place - 1, n_windows)
        numbers.append(np.where(is_prefixed, window, np.maximum(place - n_prefixed, 0)))
        place = np.where(is_prefixed, prefix + 1, 0)
    return samples, numbers[::-1]


def pad_rows(rows: Rows, padding: Padding) -> tuple[Rows, int]:
    """Add a segment of padding to every row; return the length of those that needed any too."""
    totals = rows.totals
    width = padding.length
    if width is None:
        # As in the library: what overflows does not count.
        width = int(totals[rows.is_first].max(initial=0))
    width += -width % padding.multiple
    missing = np.maximum(width - totals, 0)

    def joined(table: Numbers, value: Numbers | int) -> Numbers:
        column = np.broadcast_to(np.asarray(value, dtype=np.int64), totals.shape)[:, None]
        return np.concatenate([column, table] if padding.is_left else [table, column], axis=1)

    padded = Rows(
        rows.samples,
        rows.is_first,
        joined(rows.starts, 0),
        joined(rows.lengths, missing),
        joined(rows.types, padding.pad_type_id),
        (PAD, *rows.kinds) if padding.is_left else (*rows.kinds, PAD),
    )
    return padded, width


def fill(column: Column, rows: Rows, dtype: DTypeLike) -> NDArray[Any]:
    """Put the values of a column into the rows."""
    totals = rows.totals
    cursor = np.cumsum(totals) - totals
    values = column.texts[0]
    out = np.empty((int(totals.sum()), *values.shape[1:]), dtype=dtype)
    if PAD in rows.kinds:
        out[...] = column.pad
    for place, kind in enumerate(rows.kinds):
        starts, lengths = rows.starts[:, place], rows.lengths[:, place]
        if kind == FIXED:
            fixed = column.fixed[starts.max(initial=0) :][: lengths.max(initial=0)]
            for k, value in enumerate(fixed):
                out[cursor + k] = value
        elif kind != PAD:
            _copy_runs(out, cursor, column.texts[kind], starts, lengths)
        cursor = cursor + lengths
    return out


def _copy_runs(
    out: NDArray[Any], to: Numbers, source: NDArray[Any], starts: Numbers, lengths: Numbers
) -> None:
    total = int(lengths.sum())
    if total < _LONG * len(lengths):
        out[_places(to, lengths, total)] = source[_places(starts, lengths, total)]
        return
    for a, b, size in zip(to.tolist(), starts.tolist(), lengths.tolist(), strict=True):
        out[a : a + size] = source[b : b + size]


def _places(starts: Numbers, lengths: Numbers, total: int) -> Numbers:
    """Return `start, start + 1, ...` for every run, joined."""
    before = np.cumsum(lengths) - lengths
    places: Numbers = np.repeat(starts - before, lengths) + np.arange(total)
    return places
