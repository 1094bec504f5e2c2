"""Two reports -> better, worse or not distinguishable, for every row and for all together.

Rows of the same name and text are compared. A value is the `low` time of a process, divided by its
`pace`: what other work on the machine adds, and a processor that runs at another speed, are mostly
not in it. A row is called better or worse if the whole interval of the ratio is beyond `margin`.
With many rows, each interval is wider, so that one false alarm in all of them is as likely as in
one. The verdict on all rows takes the middle row of every round: a small change that most rows
share is seen there first, and a process that was disturbed is not.
"""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._bench.intervals import CONFIDENCE, Interval, ratio_interval
from tokenmill._errors import TokenmillError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._bench.measurement import BenchReport, CallTimes, Measurement

Verdict = Literal["better", "worse", "not distinguishable"]
_LEAST_CONFIDENCE = 0.89  # three processes against three have 0.9, and two against two 0.67
MARGIN = 0.01  # of a time: less than this differs between two installations of the same code


@dataclass(frozen=True)
class RowChange:
    """How many times as long a row takes now; `ids_differ` if it also gives other ids."""

    name: str
    ratio: Interval
    verdict: Verdict
    is_part: bool = False
    ids_differ: bool = False


@dataclass(frozen=True)
class Comparison:
    """All rows that both reports have, the verdict on them, and what to doubt about it.

    `old`: which result was compared with, in words.
    """

    old: str
    changes: list[RowChange]
    overall: RowChange
    warnings: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @property
    def is_worse(self) -> bool:
        """Whether anything became slower."""
        return any(change.verdict == "worse" for change in (self.overall, *self.changes))


def compare(new: BenchReport, old: BenchReport, margin: float = MARGIN) -> Comparison:
    """Compare two reports of the same kind."""
    if new.kind != old.kind:
        raise TokenmillError(
            f"the old result is of `bench {old.kind}`, the new one of `bench {new.kind}`",
            where="--compare",
        )
    pairs = [
        (row, was)
        for row in new.rows
        if (was := old.row(row.name)) is not None and row.text_hash == was.text_hash
    ]
    if not pairs:
        raise TokenmillError(
            "no row has the same name and the same text in both results",
            where="--compare",
            hint="measure the same scenarios, sizes and input",
        )
    confidence = 1 - (1 - CONFIDENCE) / len(pairs)
    changes = [_change(row, was, confidence, margin) for row, was in pairs]
    whole = [pair for pair in pairs if not pair[0].is_part]
    overall = _overall(whole or pairs, margin)
    version = _look_up(old.about, ("versions", "tokenmill"))
    name = f"tokenmill {_shown(version)}, {str(old.about.get('date', ''))[:16].replace('T', ' ')}"
    return Comparison(name, changes, overall, _warnings(new, old, pairs))


def _change(row: Measurement, was: Measurement, confidence: float, margin: float) -> RowChange:
    ratio = ratio_interval(_values(row), _values(was), confidence)
    differ = bool(row.ids and was.ids and row.ids != was.ids)
    return RowChange(row.name, ratio, _verdict(ratio, margin), row.is_part, differ)


def _overall(pairs: Sequence[tuple[Measurement, Measurement]], margin: float) -> RowChange:
    usual = [statistics.median(_values(was)) for _, was in pairs]
    new = _of_rounds([row for row, _ in pairs], usual)
    old = _of_rounds([was for _, was in pairs], usual)
    ratio = ratio_interval(new, old)
    return RowChange("all rows", ratio, _verdict(ratio, margin))


def _of_rounds(rows: Sequence[Measurement], usual: Sequence[float]) -> list[float]:
    """Return for every round how many times the usual the middle one of its rows took."""
    columns = [
        [value / base for value in _values(row)] for row, base in zip(rows, usual, strict=True)
    ]
    return [statistics.median(column) for column in zip(*columns, strict=False)]


def _values(row: Measurement) -> list[float]:
    has_pace = all(sample.pace for sample in row.samples)
    return [_value(sample, has_pace=has_pace) for sample in row.samples]


def _value(sample: CallTimes, *, has_pace: bool) -> float:
    return max(sample.low, 1e-9) / (sample.pace if has_pace else 1.0)


def _verdict(ratio: Interval, margin: float) -> Verdict:
    if ratio.confidence < _LEAST_CONFIDENCE:
        return "not distinguishable"
    if ratio.low > 1 + margin:
        return "worse"
    return "better" if ratio.high < 1 / (1 + margin) else "not distinguishable"


def _warnings(
    new: BenchReport, old: BenchReport, pairs: Sequence[tuple[Measurement, Measurement]]
) -> list[str]:
    found = [
        f"{what} differs: {_shown(was)} then, {_shown(now)} now"
        for what, keys in _SAME.items()
        if (was := _look_up(old.about, keys)) != (now := _look_up(new.about, keys))
    ]
    if min(new.rounds, old.rounds) < _FEW:
        rounds = min(new.rounds, old.rounds)
        found.append(f"{rounds} processes for a row are too few for a verdict; use --repeat 7")
    left = len(new.rows) - len(pairs)
    if left:
        found.append(f"{left} of {len(new.rows)} rows are not in the old result, or not its text")
    if any(row.ids and was.ids and row.ids != was.ids for row, was in pairs):
        found.append("ids differ: the two do not do the same work")
    return found


_FEW = 3
# What must be equal for a comparison to mean something, and where it is in a report.
_SAME = {
    "the processor": ("machine", "cpu", "model"),
    "the number of threads": ("threads",),
    "the tokenizer": ("tokenizer", "name"),
    "the vocabulary": ("tokenizer", "vocab_size"),
}


def _look_up(about: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        about = about.get(key) if isinstance(about, dict) else None
    return about


def _shown(value: Any) -> str:
    return "unknown" if value is None else str(value)
