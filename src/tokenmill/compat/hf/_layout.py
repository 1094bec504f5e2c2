"""Texts as ids -> rows as a model takes them: cut, put into a template, padded. Arrays only.

The rules are those of `tokenizers`: a text is cut before anything is put around it, and rows are
padded last. What has no plain answer here returns None, and the library itself is asked.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tokenmill.compat.hf._template import Template

    Ints = NDArray[np.int64]

FIELDS = ("ids", "type_ids", "special_tokens_mask", "attention_mask")
_LONG = 48  # ids a row from which one copy a row is faster than one gather for all


class Side(NamedTuple):
    """The first texts of all samples, or the second ones: flat ids, and where each begins."""

    ids: NDArray[np.uint32]
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        """Count the ids of each text."""
        return np.diff(self.offsets)


class Cut(NamedTuple):
    """One window of one text, for every row: ids `begin` to `end` of the text."""

    begin: Ints
    end: Ints


class Windows(NamedTuple):
    """Rows to be made: which sample each is of, its number there, and a cut of each side."""

    sample: Ints
    number: Ints
    cuts: tuple[Cut, ...]


class Rows(NamedTuple):
    """Rows that are done, flat; row `i` is `bounds[i]` to `bounds[i + 1]`.

    `fields`: "ids", "type_ids", "special_tokens_mask", "attention_mask", those asked for.
    `begin`: where the first token that is no padding stands in its row.
    """

    fields: dict[str, Ints]
    bounds: Ints
    windows: Windows
    begin: Ints

    def widths(self) -> list[int]:
        """Return the length of each row."""
        widths: list[int] = np.diff(self.bounds).tolist()
        return widths

    def samples(self) -> list[int]:
        """Return which sample each row is of."""
        samples: list[int] = self.windows.sample.tolist()
        return samples

    def lists(self, name: str) -> list[list[int]]:
        """Return a field as lists."""
        flat, bounds = self.fields[name].tolist(), self.bounds.tolist()
        return [flat[begin:end] for begin, end in pairwise(bounds)]

    def matrix(self, name: str) -> Ints | None:
        """Return a field as rows of one width, None where widths differ."""
        widths = np.diff(self.bounds)
        if not len(widths) or (widths != widths[0]).any():
            return None
        return self.fields[name].reshape(len(widths), int(widths[0]))

    def row(self, name: str, index: int) -> list[int]:
        """Return a field of one row."""
        begin, end = self.bounds[index], self.bounds[index + 1]
        found: list[int] = self.fields[name][begin:end].tolist()
        return found

    def width(self, index: int) -> int:
        """Return the length of one row."""
        return int(self.bounds[index + 1] - self.bounds[index])

    def lead(self, index: int) -> int:
        """Count the padding in front of one row."""
        return int(self.begin[index])

    def sizes(self, index: int) -> list[int]:
        """Return how much of each text is in one row."""
        return [int(cut.end[index] - cut.begin[index]) for cut in self.windows.cuts]

    def origin(self, index: int) -> tuple[int, int]:
        """Return the sample of a row, and the row's number there."""
        return int(self.windows.sample[index]), int(self.windows.number[index])


def whole(sides: Sequence[Side]) -> Windows:
    """Cut nothing."""
    count = len(sides[0].offsets) - 1
    zeros = np.zeros(count, dtype=np.int64)
    cuts = tuple(Cut(zeros, side.lengths) for side in sides)
    return Windows(np.arange(count), zeros, cuts)


def truncated(
    sides: Sequence[Side], options: dict[str, Any], added: int, *, overflow: bool
) -> Windows | None:
    """Cut each sample to `max_length` less what is `added`; with `overflow`, go on with the rest.

    None where the library has an error or an order of its own.
    """
    limit, stride = options["max_length"] - added, options["stride"]
    lengths = [side.lengths for side in sides]
    if limit < 0:
        return None
    if not (sum(lengths) > limit).any():
        return whole(sides)
    kept = _kept(lengths, limit, options["strategy"])
    if kept is None or any((stride >= k[k < n]).any() for k, n in zip(kept, lengths, strict=True)):
        return None
    left = options["direction"] == "left"
    if overflow:
        return _with_overflow(lengths, kept, stride, left=left)
    cuts = tuple(
        Cut(n - k, n) if left else Cut(np.zeros_like(n), k)
        for k, n in zip(kept, lengths, strict=True)
    )
    return whole(sides)._replace(cuts=cuts)


def _kept(lengths: Sequence[Ints], limit: int, strategy: str) -> list[Ints] | None:
    """Return how much of each text stays."""
    excess = np.maximum(sum(lengths) - limit, 0)
    if strategy == "longest_first":
        return _shared(lengths, limit) if len(lengths) > 1 else [lengths[0] - excess]
    target = 0 if strategy == "only_first" else 1
    if target >= len(lengths) or (lengths[target] <= excess)[excess > 0].any():
        return None
    return [n - excess if i == target else n for i, n in enumerate(lengths)]


def _shared(lengths: Sequence[Ints], limit: int) -> list[Ints]:
    """Shorten the longer text to the shorter one, then both."""
    first, second = lengths
    short, long = np.minimum(first, second), np.maximum(first, second)
    long = np.where(short > limit, short, np.maximum(short, limit - short))
    both = short + long > limit
    short, long = np.where(both, limit // 2, short), np.where(both, limit // 2 + limit % 2, long)
    swapped, fits = first > second, first + second <= limit
    return [
        np.where(fits, first, np.where(swapped, long, short)),
        np.where(fits, second, np.where(swapped, short, long)),
    ]


def _with_overflow(
    lengths: Sequence[Ints], kept: Sequence[Ints], stride: int, *, left: bool
) -> Windows | None:
    """List all windows of every sample; only one of two texts may have more than one."""
    rows: list[tuple[int, ...]] = []
    for sample, sizes in enumerate(zip(*(k.tolist() for k in kept), strict=True)):
        texts = [
            list(_steps(int(n[sample]), size, stride, left=left))
            for n, size in zip(lengths, sizes, strict=True)
        ]
        if sum(len(text) > 1 for text in texts) > 1:
            return None
        count = max(map(len, texts))
        for number in range(count):
            window = [text[min(number, len(text) - 1)] for text in texts]
            rows.append((sample, number, *(place for cut in window for place in cut)))
    table = np.array(rows, dtype=np.int64).reshape(len(rows), -1).T.copy()
    cuts = tuple(Cut(table[i], table[i + 1]) for i in range(2, len(table), 2))
    return Windows(table[0], table[1], cuts)


def _steps(length: int, size: int, stride: int, *, left: bool) -> Iterable[tuple[int, int]]:
    """Yield the windows of one text, the one that is kept first."""
    if size >= length:
        yield 0, length
        return
    for moved in range(0, length, size - stride):
        begin, end = moved, min(moved + size, length)
        yield (length - end, length - begin) if left else (begin, end)
        if end == length:
            return


def lay_out(
    template: Template,
    sides: Sequence[Side],
    windows: Windows,
    padding: dict[str, Any] | None,
    names: Iterable[str],
) -> Rows:
    """Put the cuts into the template and pad the rows."""
    lengths = tuple(cut.end - cut.begin for cut in windows.cuts)
    sizes = template.lengths(lengths) + np.zeros_like(windows.sample)
    longest = int(sizes.max(initial=0))
    widths = sizes if padding is None else np.maximum(sizes, target_width(longest, padding))
    bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(widths, out=bounds[1:])
    at_left = padding is not None and padding["direction"] == "left"
    begin = widths - sizes if at_left else np.zeros_like(sizes)
    pads = _Pads(bounds[:-1] if at_left else bounds[:-1] + sizes, widths - sizes, padding or {})
    cursor = bounds[:-1] + begin
    total = int(bounds[-1])
    makers = {
        "ids": lambda: _ids(template, sides, windows, cursor, pads.new(total, "pad_id")),
        "type_ids": lambda: _types(template, lengths, cursor, pads.new(total, "pad_type_id")),
        "special_tokens_mask": lambda: _specials(template, lengths, cursor, pads.mask(total, 0)),
        "attention_mask": lambda: pads.mask(total, 1),
    }
    return Rows({name: makers[name]() for name in names}, bounds, windows, begin)


class _Pads(NamedTuple):
    """Where padding goes, and what it is."""

    begin: Ints
    lengths: Ints
    options: dict[str, Any]

    def new(self, total: int, name: str) -> Ints:
        """Return a row of padding."""
        return np.full(total, self.options.get(name, 0), dtype=np.int64)

    def mask(self, total: int, inside: int) -> Ints:
        """Return `inside` for tokens and the other of 0 and 1 for padding."""
        flat = np.full(total, inside, dtype=np.int64)
        if self.options:
            _fill(flat, self.begin, self.lengths, 1 - inside)
        return flat


def target_width(longest: int, padding: dict[str, Any]) -> int:
    """Return the width that rows are padded to."""
    width = longest if padding["length"] is None else int(padding["length"])
    multiple = padding["pad_to_multiple_of"] or 1
    return -(-width // multiple) * multiple


def _ids(
    template: Template, sides: Sequence[Side], windows: Windows, cursor: Ints, out: Ints
) -> Ints:
    for part in template.parts:
        if part.sequence is None:
            out[cursor] = part.id
            cursor = cursor + 1
            continue
        side, cut = sides[part.sequence], windows.cuts[part.sequence]
        sizes = cut.end - cut.begin
        _copy(out, cursor, side.ids, side.offsets[windows.sample] + cut.begin, sizes)
        cursor = cursor + sizes
    return out


def _types(template: Template, lengths: tuple[Ints, ...], cursor: Ints, out: Ints) -> Ints:
    plain = bool(len(out)) and not out[0]  # zeros so far
    for part in template.parts:
        sizes = np.ones_like(cursor) if part.sequence is None else lengths[part.sequence]
        if part.type_id or not plain:
            _fill(out, cursor, sizes, part.type_id)
        cursor = cursor + sizes
    return out


def _specials(template: Template, lengths: tuple[Ints, ...], cursor: Ints, out: Ints) -> Ints:
    for part in template.parts:
        if part.sequence is None:
            out[cursor] = 1
            cursor = cursor + 1
        else:
            cursor = cursor + lengths[part.sequence]
    return out


def _copy(out: Ints, to: Ints, source: NDArray[np.uint32], start: Ints, sizes: Ints) -> None:
    """Copy many runs of ids."""
    total = int(sizes.sum())
    if total < _LONG * len(sizes):
        out[_runs(to, sizes, total)] = source[_runs(start, sizes, total)]
        return
    for a, b, size in zip(to.tolist(), start.tolist(), sizes.tolist(), strict=True):
        out[a : a + size] = source[b : b + size]


def _fill(out: Ints, to: Ints, sizes: Ints, value: int) -> None:
    """Write one value into many runs."""
    total = int(sizes.sum())
    if total < _LONG * len(sizes):
        out[_runs(to, sizes, total)] = value
        return
    for a, size in zip(to.tolist(), sizes.tolist(), strict=True):
        out[a : a + size] = value


def _runs(starts: Ints, sizes: Ints, total: int) -> Ints:
    """Return `start, start + 1, ...` for every run, joined."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(total)
