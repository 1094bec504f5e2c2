"""Counts: the documents, tokens and rows of one split, what was left out, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from tokenmill._mill.progress import peak_memory_mb

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._causal.log import Log


class Stopwatch:
    """Counts the seconds of our own work: it is paused while the caller uses a result."""

    def __init__(self) -> None:
        self._before = 0.0
        self._since: float | None = perf_counter()

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return self._before + (0.0 if self._since is None else perf_counter() - self._since)

    def pause(self) -> None:
        """Stop counting."""
        self._before, self._since = self.seconds, None

    def resume(self) -> None:
        """Count again."""
        self._since = perf_counter()


@dataclass
class Counts:
    """Of one split, as far as it has been read."""

    documents: int = 0
    text_bytes: int = 0
    tokens: int = 0  # each EOS and BOS counts once
    rows: int = 0
    padding: int = 0
    none: int = 0
    first_none: int | None = None
    empty: int = 0
    dropped: int = 0  # tokens of rows that were too short
    is_cut: bool = False  # ended by max_rows
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    def note_none(self, rows: NDArray[np.int64]) -> None:
        """Count rows that hold no text, and remember the first."""
        if len(rows):
            self.none += len(rows)
            self.first_none = int(rows[0]) if self.first_none is None else self.first_none

    def report(self, log: Log, where: str, context_length: int) -> None:
        """Log the result and its speed; then what was left out, as a warning if it was None."""
        seconds = self.stopwatch.seconds
        log.info(
            f"{where}{self.documents:,} documents, {self.tokens:,} tokens, "
            f"{self.rows:,} rows of {context_length:,}"
            + (f", {self.padding:,} tokens of padding" if self.padding else "")
            + f" in {speed(seconds, self.documents, self.tokens, self.text_bytes)}"
        )
        if self.none:
            rows = "row" if self.none == 1 else "rows"
            log.warning(
                f"{where}{self.none:,} {rows} of None skipped, the first is row {self.first_none}"
            )
        if self.empty:
            texts = "text" if self.empty == 1 else "texts"
            log.info(f"{where}{self.empty:,} empty {texts} skipped")
        if self.dropped:
            log.info(f'{where}{self.dropped:,} tokens of short rows dropped (tail="drop")')
        if self.is_cut:
            log.info(f"{where}stopped after {self.rows:,} rows (max_rows)")


def speed(seconds: float, documents: int, tokens: int, text_bytes: int) -> str:
    """Return the end of a closing line.

    speed(2.0, 10, 3000, 4_000_000)
    -> "2.0 s (5 documents/s, 1,500 tokens/s, 2.0 MB/s), peak memory 311 MB"
    """
    each = max(seconds, 1e-9)
    shown = f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.3f}"
    return (
        f"{shown} s ({documents / each:,.0f} documents/s, {tokens / each:,.0f} tokens/s, "
        f"{text_bytes / 1e6 / each:,.1f} MB/s), peak memory {peak_memory_mb():,.0f} MB"
    )
