"""`bench latency`: how long one call takes, scenario by scenario, from 1 KB to 5 MB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._bench.about import about_run
from tokenmill._bench.measurement import BenchReport
from tokenmill._bench.rounds import CallGroup, case_of, run_rounds
from tokenmill._bench.scenarios import cases_of
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._bench.rounds import CallRequest
    from tokenmill._bench.scenarios import Case


def measure_latency(
    request: CallRequest,
    names: Sequence[str],
    sizes: Sequence[int],
    report: Callable[[str], None],
) -> list[BenchReport]:
    """Measure scenarios; two reports if a second interpreter is named, ours first."""
    report("preparing texts")
    groups = [_group(cases, request.threads) for cases in cases_of(names, sizes)]
    return reports_of("latency", request, groups, report)


def _group(cases: list[Case], threads: int) -> CallGroup:
    scenario = cases[0].scenario
    return CallGroup(
        scenario.name,
        [
            case_of(
                case.name, case.texts, scenario.call, threads,
                {"scenario": scenario.name, "about": scenario.about, "size": case.size},
            )
            for case in cases
        ],
    )  # fmt: skip


def reports_of(
    kind: str,
    request: CallRequest,
    groups: Sequence[CallGroup],
    report: Callable[[str], None],
) -> list[BenchReport]:
    """Run the groups and return a report for each installation."""
    tokenizer = Tokenizer.load(request.tokenizer, pattern=request.pattern)  # compiled from now on
    about = about_run(tokenizer, request.tokenizer, request.threads)
    run_rounds(request, groups, report)
    pythons = [None] if request.python is None else [None, request.python]
    reports = []
    for python in pythons:
        versions = {**about["versions"], "tokenmill": groups[0].versions[python]}
        rows = [row for group in groups for row in group.rows[python]]
        reports.append(BenchReport(kind, {**about, "versions": versions}, rows))
    return reports
