"""A report as one page: no script, nothing loaded from elsewhere, light and dark."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from tokenmill._bench.charts import charts_of, comparison_chart, targets_chart
from tokenmill._bench.columns import columns_of
from tokenmill._bench.page_style import STYLE
from tokenmill._bench.wording import change_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenmill._bench.charts import Chart
    from tokenmill._bench.compare import Comparison
    from tokenmill._bench.measurement import BenchReport
    from tokenmill._bench.targets import TargetCheck

_WIDE, _HALF, _NARROW = 1080, 560, 340
_GIGA = 1e9


@dataclass
class PageParts:
    """What a page may have in addition to its report."""

    comparison: Comparison | None = None
    checks: list[TargetCheck] = field(default_factory=list)


def page_of(report: BenchReport, parts: PageParts) -> str:
    """Return the page."""
    title = f"tokenmill bench {report.kind}"
    body = [f"<header><h1>{title}</h1>{_facts(report)}</header><main>"]
    if parts.checks:
        body += [_section("Targets", _checks(parts.checks)), _chart(targets_chart(parts.checks))]
    if parts.comparison is not None:
        body.append(
            _section(f"Compared with {parts.comparison.old}", _comparison(parts.comparison))
        )
        body.append(_chart(comparison_chart(parts.comparison)))
    body += map(_chart, charts_of(report))
    if report.rows:
        body.append(_section("All rows", _rows(report)))
    body.append(_section("How it was measured", "".join(_method(report))))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body>"
        + "\n".join(body) + "</main></body></html>\n"
    )  # fmt: skip


def _facts(report: BenchReport) -> str:
    about = report.about
    cpu, memory = about["machine"]["cpu"], about["machine"]["memory"]
    total = memory.get("total")
    facts = {
        "date": about["date"].replace("T", " ").replace("+00:00", " UTC"),
        "processor": f"{cpu['model']}, {cpu['threads']} of {cpu['logical']} CPUs, {cpu['target']}",
        "memory": f"{total / _GIGA:.0f} GB" if total else "unknown",
        "threads": str(about["threads"]),
        "tokenizer": f"{about['tokenizer']['name']}, {about['tokenizer']['vocab_size']:,} ids",
        "versions": ", ".join(f"{k} {v}" for k, v in _versions(report).items()),
        "load before": "unknown" if (load := about["load_average"]) is None else f"{load:.1f}",
    }
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return f"<dl>{items}</dl>"


def _versions(report: BenchReport) -> dict[str, Any]:
    found = {k: v for k, v in report.about["versions"].items() if k in ("tokenmill", "python")}
    for row in report.rows:
        if row.version:
            name, _, version = row.version.partition(" ")
            found[name] = version
    return found


def _chart(chart: Chart) -> str:
    keys = "".join(
        f'<span><i class="c{at}"></i>{escape(str(key))}</span>' for at, key in enumerate(chart.keys)
    )
    about = f"<p>{escape(chart.about)}</p>" if chart.about else ""
    legend = f'<div class="keys">{keys}</div>' if keys else ""
    pictures = "".join(
        f'<div class="{name}">{chart.draw(width)}</div>'
        for name, width in (("wide", _HALF if chart.is_half else _WIDE), ("narrow", _NARROW))
    )
    return _section(chart.heading, about + legend + pictures, "half" if chart.is_half else "")


def _rows(report: BenchReport) -> str:
    columns = columns_of(report)
    header = [column.title for column in columns] + ["ids"]
    rows = [[column.cell(row) for column in columns] + [row.ids] for row in report.rows]
    meanings = "; ".join(f"{c.title}: {c.about}" for c in columns if c.about)
    return f"{_table(header, rows)}<p>{escape(meanings)}. ids: a hash of the answer.</p>"


def _comparison(found: Comparison) -> str:
    warnings = "".join(f'<p class="warn">{escape(text)}</p>' for text in found.warnings)
    overall = found.overall
    verdict = f"{overall.verdict}, time {change_text(overall.ratio)}"
    kind = {"worse": "bad", "better": "good"}.get(overall.verdict, "")
    rows = [[change.name, change.verdict, change_text(change.ratio)] for change in found.changes]
    table = _table(["row", "verdict", "time (interval)"], rows)
    return f'<p class="verdict {kind}">All rows: {escape(verdict)}</p>{warnings}{table}'


def _checks(checks: Sequence[TargetCheck]) -> str:
    rows = [
        [
            check.profile,
            "met" if check.is_met else "missed",
            check.metric.write(check.measured.value),
            f"{check.metric.side} {check.metric.write(check.limit)}",
            check.metric.about,
        ]
        for check in checks
    ]
    return _table(["profile", "verdict", "measured", "limit", "what"], rows)


def _method(report: BenchReport) -> Iterator[str]:
    yield f"<p>{escape(report.method)}</p>"
    for note in report.notes:
        yield f'<p class="warn">{escape(note)}</p>'
    for name, reason in report.not_measured.items():
        yield f'<p class="warn">{escape(name)} not measured: {escape(reason)}</p>'


def _section(heading: str, content: str, kind: str = "") -> str:
    return f'<section class="{kind}"><h2>{escape(heading)}</h2>{content}</section>'


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    kinds = [_kind([row[at] for row in rows]) for at in range(len(header))]
    head = "".join(
        f'<th class="{kind}">{escape(cell)}</th>' for cell, kind in zip(header, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind} {_VERDICTS.get(cell, "")}">{escape(cell)}</td>'
            for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0">{table}</div>'


_VERDICTS = {"worse": "bad", "missed": "bad", "better": "good", "met": "good"}


def _kind(cells: Sequence[str]) -> str:
    """Return how a column is aligned: words begin on one line, numbers end on one."""
    return "words" if any(cell[:1].isalpha() for cell in cells) else ""
