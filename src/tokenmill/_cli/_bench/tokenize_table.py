"""The table of `tokenmill bench tokenize`, for a terminal of 80 columns."""

from __future__ import annotations

import os
import statistics
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._bench.documents import SampleTexts
    from tokenmill._bench.result import Result, Row

_WIDTH = 80
_LABEL = 12
_HEADER = ("tokenizer", "batch", "cold s", "warm s", "docs/s", "tokens/s", "speedup", "peak MiB")
_WIDTHS = (9, 6, 9, 9, 11, 12, 8, 9)


def lines(result: Result, documents: SampleTexts, against: str | None) -> list[str]:
    """Return the table, what was measured and what was not."""
    found = [*_about(result, documents)]
    if result.rows:
        base = result.baseline(against)
        found += ["", _cells(_HEADER), *(_cells(_row(row, base)) for row in result.rows), ""]
        found += _meanings(result, base)
        if against not in (None, base.name):
            found += [f"Speedup is against {base.name}, the slowest: no {against} was measured."]
    return found + _not_measured(result) + _doubts(result)


def title(result: Result, documents: SampleTexts) -> str:
    """Return a line for the head of a picture."""
    libraries = dict.fromkeys(row.version for row in result.rows)
    return f"{len(documents.texts):,} documents, {result.threads} threads\n{'; '.join(libraries)}"


def _about(result: Result, documents: SampleTexts) -> Iterator[str]:
    size = documents.size_bytes / 1e6
    yield from _labelled("text", f"{len(documents.texts):,} documents, {size:,.2f} MB")
    yield from _labelled("", documents.origin)
    if documents.skipped:
        reasons = ", ".join(
            f"{count:,} {reason.replace('_', ' ')}"
            for reason, count in sorted(documents.skipped.items())
        )
        yield from _labelled("", f"skipped, not documents: {reasons}")
    versions = {row.library: row.version for row in result.rows}
    for name, version in versions.items():
        yield from _labelled(name, version)
    yield from _labelled("threads", f"{result.threads}, for libraries that use threads")
    if result.rows:
        yield from _labelled("answers", f"all rows return the same {result.rows[0].tokens:,} ids")


def _meanings(result: Result, base: Row) -> Iterator[str]:
    rounds = len(base.cold_seconds)
    yield from textwrap.wrap(
        f"cold: the first pass over these texts, with the tokenizer loaded; warm: the same texts "
        f"again in the same process. docs/s, tokens/s and speedup (against {base.name}) are those "
        f"of the cold pass. peak: the whole process, with texts and results. Medians of {rounds} "
        f"fresh process{'es' if rounds > 1 else ''} per row.",
        _WIDTH,
    )
    loads: dict[str, list[float]] = {}
    for row in result.rows:
        loads.setdefault(row.library, []).extend(row.load_seconds)
    shown = ", ".join(f"{name} {statistics.median(s):.2f} s" for name, s in loads.items())
    yield from textwrap.wrap(f"Loading, imports included: {shown}.", _WIDTH)


def _not_measured(result: Result) -> list[str]:
    found: list[str] = []
    for name, reason in result.not_measured.items():
        found += textwrap.wrap(f"{name} not measured: {reason}", _WIDTH, subsequent_indent="  ")
    return found


def _doubts(result: Result) -> list[str]:
    notes = dict.fromkeys(f"{row.library}: {row.note}" for row in result.rows if row.note)
    load = result.load_average
    if load is not None and load > (os.cpu_count() or 1):
        notes[
            f"The load average was {load:.1f} at the start: other work was running, "
            "so do not trust these times."
        ] = None
    return [line for note in notes for line in textwrap.wrap(note, _WIDTH)]


def _row(row: Row, base: Row) -> tuple[str, ...]:
    return (
        row.library,
        f"{row.batch_size:,}",
        _seconds(row.cold),
        _seconds(row.warm),
        f"{row.documents_per_second:,.0f}",
        f"{row.tokens_per_second:,.0f}",
        f"{base.cold / row.cold:.1f}",
        f"{statistics.median(row.peak_mib):,.0f}",
    )


def _seconds(value: float) -> str:
    return f"{value:,.1f}" if value >= 100 else f"{value:.4f}"  # noqa: PLR2004 -- nine columns


def _cells(cells: tuple[str, ...]) -> str:
    first, *rest = zip(cells, _WIDTHS, strict=True)
    return f"{first[0]:<{first[1]}}" + "".join(f"{cell:>{width}}" for cell, width in rest)


def _labelled(label: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=f"{label:<{_LABEL}}",
        subsequent_indent=" " * _LABEL,
        break_on_hyphens=False,
    )
