"""One row by itself: the same as `layout` does for many, without arrays.

A call on one short text is over before a dozen of small arrays are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import _core
from tokenmill._post.layout import NO_WORD
from tokenmill._post.templates import SIDES
from tokenmill._post.truncation import check_room, cut_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._post.layout import Encoded
    from tokenmill._post.request import Padding, Truncation, Wanted
    from tokenmill._post.templates import Parts, Templates

_OUTSIDE: dict[str, Any] = {"spans": (0, 0), "words": NO_WORD}  # special tokens and padding


@dataclass(frozen=True)
class OneRow:
    """A row that nothing was cut off for others; `cuts`: what of each text it holds."""

    sides: Sequence[Encoded]
    parts: Parts
    cuts: Sequence[tuple[int, int]]
    padding: Padding | None
    width: int
    n_pads: int

    @property
    def lead(self) -> int:
        """Count the padding in front."""
        return self.n_pads if self.padding is not None and self.padding.is_left else 0

    def column(self, name: str) -> list[Any]:
        """Return the values of the row; the list is the caller's own."""
        inside: list[Any] = []
        for part in self.parts:
            if not part.text:
                inside += _fixed(name, part.ids, part.type_id)
                continue
            side = SIDES.index(part.text)
            begin, end = self.cuts[side]
            inside += _of_text(name, self.sides[side], begin, end, part.type_id)
        if self.padding is None:
            return inside
        pads = [_pad(name, self.padding)] * self.n_pads
        return pads + inside if self.padding.is_left else inside + pads


def arrange_one(
    sides: Sequence[Encoded], templates: Templates, wanted: Wanted, *, add_special_tokens: bool
) -> OneRow:
    """Lay out the row of one text, or of one pair."""
    if "spans" in sides[0].columns:
        templates.check_offsets(wanted)
    parts = templates.parts(is_pair=len(sides) > 1, add_special_tokens=add_special_tokens)
    cuts = [(0, len(side.ids)) for side in sides]
    n_added = sum(len(part.ids) for part in parts)
    if wanted.truncation is not None:
        cuts = _cut(cuts, wanted.truncation, n_added, templates)
    size = n_added + sum(end - begin for begin, end in _used(parts, cuts))
    padding = wanted.padding
    width = size
    if padding is not None:
        width = size if padding.length is None else padding.length
        width = max(size, width + -width % padding.multiple)
    return OneRow(sides, parts, cuts, padding, width, width - size)


def _used(parts: Parts, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [cuts[SIDES.index(part.text)] for part in parts if part.text]


def _cut(
    cuts: list[tuple[int, int]], truncation: Truncation, n_added: int, templates: Templates
) -> list[tuple[int, int]]:
    room = check_room(truncation, n_added, templates.n_added(is_pair=False))
    if sum(end for _, end in cuts) <= room:
        return cuts
    first = np.zeros(1, dtype=np.int64)
    windows = cut_windows([np.array([end]) for _, end in cuts], truncation, room)
    bounds = [side.bounds(first, first) for side in windows]
    return [(int(begin[0]), int(begin[0] + size[0])) for begin, size in bounds]


def _fixed(name: str, ids: tuple[int, ...], type_id: int) -> list[Any]:
    if name == "ids":
        return [*ids]
    known = {"type_ids": type_id, "special_mask": 1, "attention_mask": 1, **_OUTSIDE}
    return [known[name]] * len(ids)


def _of_text(name: str, side: Encoded, begin: int, end: int, type_id: int) -> list[Any]:
    known = {"type_ids": type_id, "special_mask": 0, "attention_mask": 1}
    if name in known:
        return [known[name]] * (end - begin)
    values = side.ids if name == "ids" else side.columns[name]
    return as_list(values[begin:end])


def _pad(name: str, padding: Padding) -> Any:  # a number, or two
    known = {
        "ids": padding.pad_id,
        "type_ids": padding.pad_type_id,
        "special_mask": 1,
        "attention_mask": 0,
        **_OUTSIDE,
    }
    return known[name]


def as_list(values: NDArray[Any]) -> list[Any]:
    """Return values as Python numbers, or as pairs of them."""
    if values.ndim == 1:
        return values.tolist()  # type: ignore[no-any-return]
    pairs: list[Any] = _core.list_pairs(np.ascontiguousarray(values, dtype=np.int64))  # type: ignore[assignment]
    return pairs
