"""What `tokenmill tune` tried, as a table, and what came of it."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import TYPE_CHECKING

from tokenmill._cli._lines import counted
from tokenmill._numbers import size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._tune.sample import FileSample
    from tokenmill._tune.search import TuneTrial
    from tokenmill._tune.space import TuneSetting
    from tokenmill._tune.tune import TuneReport

_MIB = 1 << 20
_SHORT = 0.3  # seconds: a run that is over so soon says little


def tune_lines(report: TuneReport, sample: FileSample) -> list[str]:
    """Return the table and the verdict."""
    files = counted(len(sample.paths), "file")
    what = "all of it" if sample.is_everything else "a sample"
    return [
        f"{files}, about {size(sample.text_bytes)} of text ({what}), "
        f"{counted(len(report.trials), 'run')} of {report.space.size} settings",
        "",
        *_table(report),
        "",
        *_verdict(report),
    ]


def _table(report: TuneReport) -> Iterator[str]:
    yield "threads    block  tables  device  runs   seconds    memory"
    runs: dict[TuneSetting, list[TuneTrial]] = defaultdict(list)
    for trial in report.trials:
        runs[trial.setting].append(trial)
    rows = sorted(runs.items(), key=lambda row: _median(row[1]))
    for setting, trials in rows:
        seconds = _median(trials)
        memory = max(trial.memory_mb for trial in trials)
        mark = "  default" if setting == report.space.default else ""
        mark += "  chosen" if report.changes and setting == report.chosen else ""
        yield (
            f"{setting.threads:>7}  {setting.block_bytes // _MIB:>3} MiB  {setting.tables:<6}  "
            f"{setting.device:<6}  {len(trials):>4}  {seconds:>8.3f}  {memory:>5.0f} MB{mark}"
        )


def _median(trials: list[TuneTrial]) -> float:
    return statistics.median(trial.seconds for trial in trials)


def _verdict(report: TuneReport) -> Iterator[str]:
    found = report.confirmation
    if found is None:
        yield "The defaults were the fastest. Nothing to set."
    else:
        ratio = found.ratio
        changes = found.candidate.changes(report.space.default)
        values = ", ".join(f"{key}={value}" for key, value in changes.items())
        faster = f"{ratio.value:.2f} times as fast as the defaults"
        between = f"{ratio.low:.2f} to {ratio.high:.2f} in new runs, in turn"
        yield f"{values}: {faster} ({between})."
        if not found.is_faster:
            yield "That is within the noise, or too little to matter. Nothing to set."
    times = [t.seconds for t in report.trials if t.setting == report.space.default]
    if times and min(times) < _SHORT:
        yield f"A run took only {min(times):.2f} s; a larger --sample gives a clearer result."
