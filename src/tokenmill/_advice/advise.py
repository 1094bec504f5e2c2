"""All advisers, in the order in which their advice is shown: what costs most comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._advice import engine, reading, tables, threads, writing
from tokenmill._advice.advice import ENOUGH_SECONDS

if TYPE_CHECKING:
    from tokenmill._advice.advice import Advice, Adviser
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._record.facts import RunFacts

ADVISERS: tuple[Adviser, ...] = (
    *engine.ADVISERS, *threads.ADVISERS, *reading.ADVISERS, *tables.ADVISERS, *writing.ADVISERS,
)  # fmt: skip


def advise(run: RunFacts, machine: MachineFacts) -> list[Advice]:
    """Return what to change about a run; nothing for a healthy one."""
    is_long = run.thread_seconds >= ENOUGH_SECONDS
    advisers = ADVISERS if is_long else engine.ADVISERS  # which look at more than stages
    found = (adviser(run, machine) for adviser in advisers)
    return [advice for advice in found if advice is not None]
