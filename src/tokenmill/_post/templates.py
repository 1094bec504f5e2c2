"""What is put around one text and around two, as the compiled model carries it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tokenmill._errors import UnsupportedTokenizer
from tokenmill._spec import TemplatePart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenmill._post.request import Wanted

Parts: TypeAlias = tuple[TemplatePart, ...]
SIDES = ("A", "B")


@dataclass(frozen=True)
class Templates:
    """The parts for one text and for two; None where the source does not say it in parts.

    `trim_offsets` is that of TokenizerSpec.
    """

    single: Parts | None
    pair: Parts | None
    trim_offsets: tuple[bool, ...] = ()

    def parts(self, *, is_pair: bool, add_special_tokens: bool) -> Parts:
        """Return the parts in order; without special tokens, the texts alone."""
        parts = self.pair if is_pair else self.single
        if parts is None:
            raise UnsupportedTokenizer(
                f"what it makes of {'two texts' if is_pair else 'a text'} is not known in parts",
                hint="encode each text by itself, without the options for rows",
            )
        if add_special_tokens:
            return tuple(part for part in parts if part.text or part.ids)
        # The library adds nothing then, and leaves the type of a window that overflows as it was.
        texts = [part for part in parts if part.text]
        return tuple(replace(p, overflow_type_id=SIDES.index(p.text)) for p in texts)

    def n_added(self, *, is_pair: bool) -> int:
        """Count the special tokens that are put around one text, or around two."""
        parts = self.parts(is_pair=is_pair, add_special_tokens=True)
        return sum(len(part.ids) for part in parts)

    def check_offsets(self, wanted: Wanted) -> None:
        """Refuse windows whose first token the library would trim as that of a text."""
        cut = wanted.truncation
        moves_start = cut is not None and (cut.is_left or wanted.overflowing)
        if moves_start and any(self.trim_offsets):
            raise UnsupportedTokenizer(
                "the offsets of windows of this tokenizer depend on where they begin",
                where="offsets",
                hint="truncate on the right, without return_overflowing",
            )


def templates_of(meta: Mapping[str, Any]) -> Templates:
    """Read the templates out of a compiled model's meta data."""
    return Templates(
        _parts(meta.get("single")), _parts(meta.get("pair")), tuple(meta.get("trim_offsets", ()))
    )


def _parts(rows: Sequence[Sequence[Any]] | None) -> Parts | None:
    if rows is None:
        return None
    return tuple(TemplatePart(text, tuple(ids), *types) for text, ids, *types in rows)
