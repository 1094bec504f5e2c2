"""One line of the table: what was asked, and what was measured."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Goal:
    """A figure with its limit: at least `asked`, or at most if `is_most`."""

    what: str
    asked: float | None
    measured: float
    values: list[float] = field(default_factory=list)
    is_most: bool = False
    unit: str = ""
    rates: dict[str, float] = field(default_factory=dict)  # medians of a ratio's two sides

    @property
    def is_met(self) -> bool:
        """Whether the figure is within its limit."""
        if self.asked is None:
            return True
        return self.measured <= self.asked if self.is_most else self.measured >= self.asked

    def cells(self) -> list[str]:
        """Return the line of the table."""
        sign = "<=" if self.is_most else ">="
        asked = "" if self.asked is None else f"{sign} {self.asked:g}{self.unit}"
        spread = f"{min(self.values):.2f} to {max(self.values):.2f}" if self.values else ""
        verdict = "" if self.is_met else "MISSED"
        return [self.what, asked, f"{self.measured:.2f}{self.unit}", spread, verdict]


def ratio_goal(what: str, asked: float | None, ours: list[float], theirs: list[float]) -> Goal:
    """Return a goal for a ratio of medians; its range is that of the ratios round by round."""
    rates = {"ours": statistics.median(ours), "theirs": statistics.median(theirs)}
    values = [a / b for a, b in zip(ours, theirs, strict=True)]
    return Goal(what, asked, rates["ours"] / rates["theirs"], values, rates=rates)
