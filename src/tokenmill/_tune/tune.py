"""`tune`: machine -> space -> search -> the best few -> confirmed or not -> a report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from tokenmill import __version__
from tokenmill._config.toml import toml_lines
from tokenmill._tune.confirm import PAIRS, Confirmation, confirm, play_off
from tokenmill._tune.search import SearchBudget, TuneTrial, ranked, search

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._bench.intervals import Interval
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._tune.space import TuneSetting, TuneSpace

_FINALISTS = 3


@dataclass(frozen=True)
class TuneReport:
    """What was tried, and what came of it; without a `confirmation` the defaults were the best."""

    space: TuneSpace
    trials: list[TuneTrial]
    confirmation: Confirmation | None

    @property
    def chosen(self) -> TuneSetting:
        """The setting to use: the default one unless another is faster beyond the noise."""
        found = self.confirmation
        return found.candidate if found and found.is_faster else self.space.default

    @property
    def changes(self) -> dict[str, Any]:
        """What to set; nothing if the defaults are right."""
        return self.chosen.changes(self.space.default)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        found = self.confirmation
        ratio = None if found is None else found.ratio
        return {
            "default": self.space.default.as_dict(),
            "chosen": self.chosen.as_dict(),
            "changes": self.changes,
            "candidate": None if found is None else found.candidate.as_dict(),
            "faster": None if ratio is None else [ratio.value, ratio.low, ratio.high],
            "trials": [
                {**t.setting.as_dict(), "seconds": t.seconds, "memory_mb": t.memory_mb}
                for t in self.trials
            ],
        }


def tune(
    space: TuneSpace,
    measure: Callable[[TuneSetting], TuneTrial],
    budget: SearchBudget,
    *,
    pairs: int = PAIRS,
) -> TuneReport:
    """Search, then confirm the best against the defaults with new runs."""
    trials = search(space, measure, budget)
    best = [setting for setting, _ in ranked(trials)[:_FINALISTS]]
    if space.default not in best:
        best.append(space.default)
    winner = play_off(best, measure)
    if winner == space.default:
        return TuneReport(space, trials, None)
    return TuneReport(space, trials, confirm(winner, space.default, measure, pairs))


def configuration_text(
    changes: dict[str, Any], ratio: Interval, machine: MachineFacts, command: str
) -> str:
    """Write the file: what was found, on which machine, and the keys that are not the default."""
    now = datetime.now(tz=timezone.utc).isoformat(timespec="seconds")
    lines = [
        f"# Written by tokenmill {__version__} on {now}:",
        f"#   {command}",
        f"# {machine.cpu.model}, {machine.cpu.threads} threads.",
        f"# {ratio.value:.2f} times as fast as the defaults ({ratio.low:.2f} to {ratio.high:.2f}).",
        "# Use it with `--config FILE` or TOKENMILL_CONFIG. It changes no id and no output byte.",
    ]
    return "\n".join([*lines, *toml_lines(changes)]) + "\n"
