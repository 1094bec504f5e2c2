"""Better, worse or not distinguishable: no false alarm on a busy machine, and 5 % are seen."""

from __future__ import annotations

import json
import random

import pytest
from tests.bench.reports import noisy_rows, report_of, row_of

from tokenmill import TokenmillError
from tokenmill._bench.compare import compare
from tokenmill._bench.measurement import BenchReport

PAIRS = 200
STEADY = [1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.00]


def times(factor: float) -> list[float]:
    return [value * factor * 1e-3 for value in STEADY]


def test_two_runs_of_the_same_build_agree_in_19_of_20_pairs() -> None:
    chance = random.Random(20261118)  # noqa: S311 -- noise
    alarms = 0
    for _ in range(PAIRS):
        old = noisy_rows(chance, count=8, rounds=7, factor=1.0)
        new = noisy_rows(chance, count=8, rounds=7, factor=1.0)
        found = compare(new, old)
        verdicts = {change.verdict for change in (found.overall, *found.changes)}
        alarms += verdicts != {"not distinguishable"}
    assert alarms <= PAIRS / 20


@pytest.mark.parametrize(("factor", "verdict"), [(1.05, "worse"), (1 / 1.05, "better")])
def test_a_change_of_5_percent_is_called_by_its_name(factor: float, verdict: str) -> None:
    chance = random.Random(5)  # noqa: S311 -- noise
    called = 0
    for _ in range(PAIRS):
        old = noisy_rows(chance, count=8, rounds=7, factor=1.0)
        called += (
            compare(noisy_rows(chance, count=8, rounds=7, factor=factor), old).overall.verdict
            == verdict
        )
    assert called >= 0.98 * PAIRS


def test_one_slow_row_among_many_is_named() -> None:
    old = report_of("latency", [row_of(f"row {n}", times(1)) for n in range(12)])
    rows = [row_of(f"row {n}", times(1.3 if n == 4 else 1)) for n in range(12)]
    found = compare(report_of("latency", rows), old)
    assert [change.name for change in found.changes if change.verdict == "worse"] == ["row 4"]
    assert found.is_worse


def test_a_change_below_the_margin_is_not_called() -> None:
    old, new = (report_of("latency", [row_of("a", [f] * 7)]) for f in (1.0, 1.008))
    assert compare(new, old).overall.verdict == "not distinguishable"
    assert compare(new, old, margin=0.005).overall.verdict == "worse"


def test_few_processes_give_no_verdict_or_none_within_their_spread() -> None:
    old, new = (report_of("latency", [row_of("a", [f] * 2)]) for f in (1.0, 3.0))
    found = compare(new, old)
    assert found.overall.verdict == "not distinguishable"
    assert "2 processes for a row are too few for a verdict; use --repeat 7" in found.warnings
    old, new = (report_of("latency", [row_of("a", [f, f * 1.3, f])]) for f in (1.0, 1.1))
    assert compare(new, old).overall.verdict == "not distinguishable"
    assert compare(new, old).warnings == []


def test_stages_are_compared_but_do_not_count_twice() -> None:
    def report(job: float, stage: float) -> BenchReport:
        rows = [row_of("whole job", times(job)), row_of("split", times(stage), is_part=True)]
        return report_of("pack", rows)

    found = compare(report(1, 2), report(1, 1))
    assert found.overall.verdict == "not distinguishable"
    assert [change.verdict for change in found.changes] == ["not distinguishable", "worse"]


def test_other_machines_tokenizers_and_ids_are_warned_about() -> None:
    old = report_of("latency", [row_of("a", times(1)), row_of("b", times(1))])
    new = report_of(
        "latency", [row_of("a", times(1), ids="other"), row_of("b", times(1), text_hash="x")]
    )
    new.about = {**new.about, "threads": 8, "tokenizer": {"name": "big", "vocab_size": 300},
                 "machine": {"cpu": {"model": "C"}}}  # fmt: skip
    found = compare(new, old)
    text = "\n".join(found.warnings)
    assert "the processor differs: A & B <fast> then, C now" in text
    assert "the number of threads differs: 2 then, 8 now" in text
    assert "the tokenizer differs" in text
    assert "ids differ" in text
    assert "1 of 2 rows are not in the old result" in text
    assert found.changes[0].ids_differ


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("peers", "a", "of `bench latency`, the new one of `bench peers`"),
        ("latency", "b", "no row"),
    ],
)
def test_what_has_nothing_in_common_is_refused(kind: str, name: str, message: str) -> None:
    old = report_of("latency", [row_of("a", times(1))])
    with pytest.raises(TokenmillError, match=message):
        compare(report_of(kind, [row_of(name, times(1))]), old)


def test_a_report_survives_json() -> None:
    report = report_of("latency", [row_of("a", times(1), labels={"size": 3}), row_of("b", [1.0])])
    again = BenchReport.from_json(json.loads(json.dumps(report.as_json())))
    assert again == report
    summary = report.as_json()["rows"][0]["summary"]
    assert summary["p50"]["low"] <= summary["p50"]["value"] <= summary["p50"]["high"]
    assert summary["tokens_per_second"] == pytest.approx(250 / 1e-3)
