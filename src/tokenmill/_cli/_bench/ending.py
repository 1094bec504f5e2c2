"""What every kind of bench does with its report: the table, the files, the comparison."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import InputError, OptionError, OutputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tokenmill._bench.compare import Comparison
    from tokenmill._bench.measurement import BenchReport
    from tokenmill._bench.targets import TargetCheck

_STDOUT = "-"


def check_outputs(options: argparse.Namespace) -> BenchReport | None:
    """Refuse now what would fail after minutes of measuring; return the old result, if named."""
    for name in (options.json, options.html):
        if name not in (None, _STDOUT) and not Path(name).absolute().parent.is_dir():
            raise OutputError("its folder does not exist", path=name)
    baseline = getattr(options, "baseline", None)
    if baseline is not None:
        _check_baseline(baseline, options.compare)
    old = getattr(options, "compare", None)
    return None if old is None else read_result(old)


def _check_baseline(python: str, compare: str | None) -> None:
    if compare is not None:
        raise OptionError(
            "cannot be combined with --compare", where="--baseline", hint="leave one out"
        )
    if shutil.which(python) is None:
        hint = "name the python of a virtual environment, e.g. old/bin/python"
        raise OptionError(f"no such program: {python}", where="--baseline", hint=hint)


def read_result(name: str) -> BenchReport:
    """Read a file that --json wrote."""
    from tokenmill._bench.measurement import FORMAT, BenchReport

    try:
        value = json.loads(Path(name).read_text(encoding="utf-8"))
        if value.get("format") != FORMAT:
            raise ValueError(f"its format is {value.get('format')}, expected {FORMAT}")
        return BenchReport.from_json(value)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=name) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "name a file that `tokenmill bench` wrote with --json"
        raise InputError(
            f"is not a result of this command: {error}", path=name, hint=hint
        ) from error


def end(
    options: argparse.Namespace,
    report: BenchReport,
    old: BenchReport | None,
    *,
    checks: Sequence[TargetCheck] = (),
    table: Sequence[str] | None = None,
) -> int:
    """Print and write everything; return the exit status."""
    from tokenmill._bench.compare import compare
    from tokenmill._cli._bench.table import comparison_lines, report_lines

    found = None if old is None else compare(report, old)
    lines = list(report_lines(report) if table is None else table)
    if found is not None:
        lines += ["", *comparison_lines(found)]
    shown = sys.stderr if options.json == _STDOUT else sys.stdout
    shown.write("\n".join(lines) + "\n")
    _write_files(options, report, found, checks)
    is_missed = any(not check.is_met for check in checks)
    return int(is_missed or (found is not None and found.is_worse))


def _write_files(
    options: argparse.Namespace,
    report: BenchReport,
    found: Comparison | None,
    checks: Sequence[TargetCheck],
) -> None:
    if options.json is not None:
        facts = {**report.as_json(), **_more(found, checks)}
        _write(options.json, json.dumps(facts, indent=1) + "\n")
    if options.html is not None:
        from tokenmill._bench.page import PageParts, page_of

        _write(options.html, page_of(report, PageParts(found, list(checks))))


def _more(found: Comparison | None, checks: Sequence[TargetCheck]) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if found is not None:
        more["comparison"] = found.as_json()
    if checks:
        more["targets"] = [check.as_json() for check in checks]
    return more


def _write(name: str, text: str) -> None:
    if name == _STDOUT:
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(str(error.strerror), path=name) from error
