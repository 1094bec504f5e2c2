"""What `tokenmill profile` found, for people: stages, word tables, memory, functions, hints."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tokenmill._cli._lines import WIDTH, counted
from tokenmill._numbers import duration, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._profile.profile import ProfiledRun, ProfileReport
    from tokenmill._record.facts import RunFacts

_MOST_RUNS = 5
_MEGA = 1e6
_SEEN = 0.0005  # of the words: a table that found fewer is left out
_OWNERS = {
    "model": "compiled model, shared between processes",
    "word_tables": "word tables of workers",
    "shared_tables": "word tables that workers share",
    "buffers": "buffers of workers",
    "scratch": "freed buffers, kept for the next block",
    "results": "ids",
}


def profile_lines(report: ProfileReport) -> list[str]:
    """Return the whole report."""
    ended = "" if report.status == 0 else f", exit status {report.status}"
    command = " ".join(" ".join(report.command).split())  # on one line
    lines = [f"{duration(report.seconds)}{ended}: {command[: WIDTH - 12]}"]
    lines += [
        f"process {process.pid}: {process.cpu_seconds:.1f} s of CPU time in "
        f"{duration(process.seconds)}, peak {process.peak_mb:,.0f} MB"
        for process in report.processes
    ]
    for run in report.runs[:_MOST_RUNS]:
        lines += ["", *_run(run)]
    if not report.runs:
        lines += ["", "No tokenizer of tokenmill was used, so there are no stages to show."]
    if len(report.runs) > _MOST_RUNS:
        more = counted(len(report.runs) - _MOST_RUNS, "shorter run")
        lines += ["", f"{more} not shown; see --json"]
    return lines + list(_functions(report)) + [f"note: {note}" for note in report.notes]


def _run(run: ProfiledRun) -> Iterator[str]:
    facts = run.facts
    what = "pack" if facts.kind == "pack" else "calls"
    threads = counted(facts.stats.threads, "thread")
    yield (
        f"{what} with {facts.tokenizer}: {counted(facts.documents, 'document')}, {threads}, "
        f"{duration(facts.stats.wall_seconds)}"
    )
    yield from _stages(facts)
    yield from _words(facts)
    yield from _memory(facts)
    yield from _hints(run)


def _stages(facts: RunFacts) -> Iterator[str]:
    if not facts.stats.stages:
        return
    yield f"  {'stage':<12} {'seconds':>9} {'share':>6} {'MB':>9} {'MB/s':>8}"
    for name, total in facts.stats.stages.items():
        mega = total.bytes / _MEGA
        amount = f"{mega:>9,.1f}" if total.bytes else " " * 9
        rate = f"{mega / total.seconds:>8,.0f}" if total.bytes and total.seconds else ""
        label, share = name.replace("_", " "), facts.share(name)
        yield f"  {label:<12} {total.seconds:>9.3f} {share:>6.0%} {amount} {rate}".rstrip()


def _words(facts: RunFacts) -> Iterator[str]:
    words = facts.stats.words
    if not words.looked_up:
        return
    parts = [
        f"{kind.replace('_', ' ')} {count / words.looked_up:.1%}"
        for kind, count in words.hit.items()
        if count >= _SEEN * words.looked_up
    ]
    yield f"  words: {words.looked_up:,} looked up; by table: {', '.join(parts)}"
    yield (
        f"         {words.missed:,} merged ({words.missed / words.looked_up:.2%}), "
        f"{words.evicted:,} evicted; tables: {facts.tables}"
    )


def _memory(facts: RunFacts) -> Iterator[str]:
    owners = {name: count for name, count in facts.stats.memory.items() if count}
    for number, (name, count) in enumerate(owners.items()):
        label = "memory:" if number == 0 else ""
        yield f"  {label:<8} {size(count):>9}  {_OWNERS.get(name, name.replace('_', ' '))}"


def _hints(run: ProfiledRun) -> Iterator[str]:
    for advice in run.advice:
        text = f"{advice.measured}. Likely cause: {advice.cause}. Change: {advice.change}."
        yield from textwrap.wrap(
            text, WIDTH, initial_indent="  hint: ", subsequent_indent="        "
        )
    if not run.advice:
        yield "  no hints: nothing stands out"


def _functions(report: ProfileReport) -> Iterator[str]:
    if not report.functions:
        return
    is_memory = report.functions_by == "memray"
    yield ""
    yield "  most allocated, by memray" if is_memory else "  hottest functions, by py-spy"
    for function in report.functions:
        amount = size(function.amount) if is_memory else f"{function.amount:,} samples"
        yield f"  {function.share:>6.1%} {amount:>14}  {function.name[: WIDTH - 26]}"
