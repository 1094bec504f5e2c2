"""Ids of texts -> rows that are laid out; columns of them are made when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import OptionError
from tokenmill._post.rows import PAD, Column, fill, lay_out, pad_rows
from tokenmill._post.truncation import check_room, cut_windows, whole_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from tokenmill._post.request import Padding, Wanted
    from tokenmill._post.rows import Rows
    from tokenmill._post.templates import Parts, Templates
    from tokenmill._post.truncation import Windows

NO_WORD = 0xFFFF_FFFF
_OUTSIDE = {"words": NO_WORD}  # what columns hold for special tokens and padding, if not 0


@dataclass(frozen=True)
class Encoded:
    """The texts of one side, without anything around them: flat ids, and where texts begin.

    `columns`: more values for each token, by name, which go through the same rows: "spans", which
    are (0, 0) for special tokens and for padding, and "words", which are NO_WORD there.
    """

    ids: NDArray[Any]
    offsets: NDArray[np.int64]
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """Rows of texts that nothing has been copied for yet; `width`: what they are padded to."""

    sides: Sequence[Encoded]
    parts: Parts
    rows: Rows
    padding: Padding | None
    width: int = 0

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each row begins, and the end."""
        offsets = np.zeros(len(self.rows.samples) + 1, dtype=np.int64)
        np.cumsum(self.rows.totals, out=offsets[1:])
        return offsets

    @property
    def fixed_ids(self) -> list[int]:
        """The special tokens of a row."""
        return [token_id for part in self.parts for token_id in part.ids]

    @property
    def pad_id(self) -> int:
        """What rows are padded with, 0 if they are not."""
        return 0 if self.padding is None else self.padding.pad_id

    def column(self, name: str, dtype: DTypeLike | None = None) -> NDArray[Any]:
        """Return the values of all rows, one after the other."""
        rows, kinds = self.rows, np.array(self.rows.kinds)
        if name == "ids":
            return self._filled([side.ids for side in self.sides], self.fixed_ids, dtype)
        if name == "type_ids":
            return rows.spread(rows.types.astype(dtype or np.uint32))
        if name == "special_mask":
            return rows.spread((kinds > 1).astype(dtype or np.uint8))
        if name == "attention_mask":
            return rows.spread((kinds != PAD).astype(dtype or np.uint8))
        outside = _OUTSIDE.get(name, 0)
        values = [side.columns[name] for side in self.sides]
        return self._filled(values, [outside] * len(self.fixed_ids), dtype, outside)

    def _filled(
        self,
        values: list[NDArray[Any]],
        fixed: list[int],
        dtype: DTypeLike | None,
        pad: int | None = None,
    ) -> NDArray[Any]:
        column = Column(tuple(values), fixed, self.pad_id if pad is None else pad)
        return fill(column, self.rows, dtype or values[0].dtype)


def arrange(
    sides: Sequence[Encoded], templates: Templates, wanted: Wanted, *, add_special_tokens: bool
) -> Layout:
    """Lay out the rows of texts, or of pairs of them."""
    if "spans" in sides[0].columns:
        templates.check_offsets(wanted)
    counts = [len(side.offsets) - 1 for side in sides]
    if counts[0] != counts[-1]:
        raise OptionError(f"pairs: expected {counts[0]} texts, one for each, got {counts[-1]}")
    parts = templates.parts(is_pair=len(sides) > 1, add_special_tokens=add_special_tokens)
    lengths = [np.diff(side.offsets) for side in sides]
    n_added = sum(len(part.ids) for part in parts)
    windows = _windows(lengths, templates, wanted, n_added)
    rows = lay_out(parts, windows, overflowing=wanted.overflowing)
    if wanted.padding is None:
        return Layout(sides, parts, rows, None)
    rows, width = pad_rows(rows, wanted.padding)
    return Layout(sides, parts, rows, wanted.padding, width)


def _windows(
    lengths: list[NDArray[np.int64]], templates: Templates, wanted: Wanted, n_added: int
) -> list[Windows]:
    if wanted.truncation is None:
        return whole_windows(lengths)
    room = check_room(wanted.truncation, n_added, templates.n_added(is_pair=False))
    return cut_windows(lengths, wanted.truncation, room)
