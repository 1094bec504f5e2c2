"""A report as lines for a terminal."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

from tokenmill._bench.columns import columns_of
from tokenmill._bench.wording import change_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenmill._bench.compare import Comparison
    from tokenmill._bench.measurement import BenchReport
    from tokenmill._bench.targets import TargetCheck

_WIDTH = 100
_LABEL = 12
_NAME, _CHANGE = 28, 34


def report_lines(report: BenchReport) -> Iterator[str]:
    """Return what was measured on what, the table, and how to read it."""
    yield from head_lines(report)
    if report.rows:
        columns = columns_of(report)
        yield ""
        yield _cells([column.title for column in columns], [c.width for c in columns])
        for row in report.rows:
            yield _cells([column.cell(row) for column in columns], [c.width for c in columns])
        yield ""
        meanings = "; ".join(f"{c.title}: {c.about}" for c in columns if c.about)
        yield from textwrap.wrap(f"{meanings}.", _WIDTH)
    yield from foot_lines(report)


def head_lines(report: BenchReport) -> Iterator[str]:
    """Return the machine, the tokenizer, and what else a reader must know."""
    about = report.about
    cpu = about["machine"]["cpu"]
    yield _labelled("machine", f"{cpu['model']}, {cpu['threads']} CPUs, {cpu['target']}")
    tokenizer = about["tokenizer"]
    yield _labelled("tokenizer", f"{tokenizer['name']}, {tokenizer['vocab_size']:,} ids")
    yield _labelled("threads", f"{about['threads']}")
    if "input" in about:
        yield _labelled("input", f"{about['input']['origin']}, {about['input']['bytes']:,} bytes")
    versions = dict.fromkeys(row.version for row in report.rows if row.version)
    if versions:
        yield _labelled("libraries", ", ".join(versions))
        yield _labelled("answers", f"all return the same ids ({report.rows[0].ids})")


def foot_lines(report: BenchReport) -> Iterator[str]:
    """Return how it was measured, and what to doubt."""
    yield from textwrap.wrap(report.method, _WIDTH)
    for note in (
        *report.notes,
        *(f"{n} not measured: {r}" for n, r in report.not_measured.items()),
    ):
        yield from textwrap.wrap(note, _WIDTH, subsequent_indent="  ")
    load = report.about["load_average"]
    if load is not None and load > (os.cpu_count() or 1):
        yield from textwrap.wrap(
            f"The load average was {load:.1f} at the start: other work was running, so do not "
            "trust these times.", _WIDTH,
        )  # fmt: skip


def comparison_lines(found: Comparison) -> Iterator[str]:
    """Return the verdicts, the one on all rows last."""
    for warning in found.warnings:
        yield from textwrap.wrap(f"warning: {warning}", _WIDTH, subsequent_indent="  ")
    yield f"compared with {found.old}"
    yield f"{'row':<{_NAME}}{'time (interval)':>{_CHANGE}}  verdict"
    for change in found.changes:
        ids = ", other ids" if change.ids_differ else ""
        yield f"{change.name:<{_NAME}}{change_text(change.ratio):>{_CHANGE}}  {change.verdict}{ids}"
    overall = found.overall
    yield f"{overall.name:<{_NAME}}{change_text(overall.ratio):>{_CHANGE}}  {overall.verdict}"


def target_lines(checks: Sequence[TargetCheck]) -> Iterator[str]:
    """Return a line for each limit."""
    widths = [12, 34, 18, 26, 9]
    yield _cells(["profile", "what", "measured", "limit", "verdict"], widths)
    for check in checks:
        close = " (close)" if check.is_close else ""
        cells = [
            check.profile, check.metric.about, check.metric.write(check.measured.value),
            f"{check.metric.side} {check.metric.write(check.limit)}",
            ("met" if check.is_met else "missed") + close,
        ]  # fmt: skip
        yield _cells(cells, widths)


def _cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    line = f"{first[0]:<{first[1]}}" + "".join(f"{cell:>{width}}" for cell, width in rest)
    return line.rstrip()


def _labelled(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}"
