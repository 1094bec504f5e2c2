"""Counts: what went in, what came out and what was left out, of one split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._causal.voice import Voice


@dataclass
class Counts:
    """Of one split, as far as it has been read."""

    documents: int = 0
    tokens: int = 0  # EOS and BOS too, each once
    rows: int = 0
    padding: int = 0
    none: int = 0
    first_none: int | None = None
    empty: int = 0
    dropped: int = 0  # tokens of rows that were too short
    is_cut: bool = False  # ended by max_rows

    def note_none(self, rows: NDArray[np.int64]) -> None:
        """Count rows that hold no text; the first of them is named."""
        if len(rows):
            self.none += len(rows)
            self.first_none = int(rows[0]) if self.first_none is None else self.first_none

    def say(self, voice: Voice, where: str, context_length: int) -> None:
        """Tell what came of it; what was left out is told apart, as a warning where it is text."""
        voice.info(
            f"{where}{self.documents:,} documents, {self.tokens:,} tokens, "
            f"{self.rows:,} rows of {context_length:,}"
            + (f", {self.padding:,} tokens of padding" if self.padding else "")
        )
        if self.none:
            rows = "row" if self.none == 1 else "rows"
            voice.warning(
                f"{where}{self.none:,} {rows} of None skipped, the first is row {self.first_none}"
            )
        if self.empty:
            texts = "text" if self.empty == 1 else "texts"
            voice.info(f"{where}{self.empty:,} empty {texts} skipped")
        if self.dropped:
            voice.info(f'{where}{self.dropped:,} tokens of short rows dropped (tail="drop")')
        if self.is_cut:
            voice.info(f"{where}ended after {self.rows:,} rows (max_rows)")
