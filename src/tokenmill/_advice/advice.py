"""A piece of advice, and what it is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._machine.facts import MachineFacts
    from tokenmill._record.facts import RunFacts

    Adviser: TypeAlias = Callable[["RunFacts", "MachineFacts"], "Advice | None"]

ENOUGH_SECONDS = 0.05  # of all threads: what is over so soon needs no advice


@dataclass(frozen=True)
class Advice:
    """What was measured, why, and what to do about it; `name` is for programs."""

    name: str
    measured: str
    cause: str
    change: str

    def as_json(self) -> dict[str, str]:
        """Return plain values."""
        return asdict(self)


def percent(share: float) -> str:
    """Write a share: 0.824 -> "82 %"."""
    return f"{100 * share:.0f} %"
