"""One row by itself: the same as `_layout` does for many, without arrays.

A call on one short text is over before a dozen of small arrays are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill.compat.hf._layout import Side, target_width, truncated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill.compat.hf._template import Template


class OneRow:
    """What `Rows` is, of a single row that nothing was cut off for others."""

    __slots__ = ("_fields", "_lead", "_padding", "_template", "_texts", "_width")

    def __init__(
        self, template: Template, texts: Sequence[list[int]], padding: dict[str, Any] | None
    ) -> None:
        sizes = [len(texts[p.sequence]) for p in template.parts if p.sequence is not None]
        size = template.added + sum(sizes)
        self._template = template
        self._texts = texts
        self._padding = padding
        self._width = size if padding is None else max(size, target_width(size, padding))
        is_left = padding is not None and padding["direction"] == "left"
        self._lead = self._width - size if is_left else 0
        self._fields: dict[str, list[int]] = {}

    def widths(self) -> list[int]:
        """Return the length of the row."""
        return [self._width]

    def samples(self) -> list[int]:
        """Return the only sample."""
        return [0]

    def lists(self, name: str) -> list[list[int]]:
        """Return a field as a list of one list."""
        return [self.row(name)]

    def matrix(self, name: str) -> NDArray[np.int64]:
        """Return a field as a matrix of one row."""
        return np.array([self._field(name)], dtype=np.int64)

    def row(self, name: str, _index: int = 0) -> list[int]:
        """Return a field; the list is the caller's own."""
        return self._field(name).copy()

    def width(self, _index: int = 0) -> int:
        """Return the length of the row."""
        return self._width

    def lead(self, _index: int = 0) -> int:
        """Count the padding in front."""
        return self._lead

    def sizes(self, _index: int = 0) -> list[int]:
        """Return how much of each text is in the row."""
        return [len(text) for text in self._texts]

    def origin(self, _index: int = 0) -> tuple[int, int]:
        """Return the sample and the row's number there."""
        return 0, 0

    def _field(self, name: str) -> list[int]:
        if name not in self._fields:
            self._fields[name] = self._made(name)
        return self._fields[name]

    def _made(self, name: str) -> list[int]:
        inside: list[int] = []
        for part in self._template.parts:
            text = [part.id] if part.sequence is None else self._texts[part.sequence]
            if name == "ids":
                inside += text
            else:
                value = {
                    "type_ids": part.type_id,
                    "special_tokens_mask": int(part.sequence is None),
                    "attention_mask": 1,
                }[name]
                inside += [value] * len(text)
        return inside if self._padding is None else self._padded(name, inside, self._padding)

    def _padded(self, name: str, inside: list[int], padding: dict[str, Any]) -> list[int]:
        values = {
            "ids": padding["pad_id"],
            "type_ids": padding["pad_type_id"],
            "special_tokens_mask": 1,
            "attention_mask": 0,
        }
        pad = [values[name]]
        after = self._width - self._lead - len(inside)
        return pad * self._lead + inside + pad * after


def one_row(
    template: Template,
    sides: Sequence[Side],
    truncation: dict[str, Any] | None,
    padding: dict[str, Any] | None,
) -> OneRow | None:
    """Lay out one sample; None where the library must be asked."""
    texts: list[list[int]] = [side.ids.tolist() for side in sides]
    limit = None if truncation is None else truncation["max_length"] - template.added
    if truncation is not None and limit is not None and sum(map(len, texts)) > limit:
        windows = truncated(sides, truncation, template.added, overflow=False)
        if windows is None:
            return None
        cuts = [(int(cut.begin[0]), int(cut.end[0])) for cut in windows.cuts]
        texts = [text[begin:end] for text, (begin, end) in zip(texts, cuts, strict=True)]
    elif limit is not None and limit < 0:
        return None
    return OneRow(template, texts, padding)
