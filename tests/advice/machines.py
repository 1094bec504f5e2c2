"""This machine, and what it would be with other limits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tokenmill._advice.advise import advise
from tokenmill._machine.facts import describe_machine

if TYPE_CHECKING:
    from tokenmill._advice.advice import Advice
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._record.facts import RunFacts


@cache
def here() -> MachineFacts:
    return describe_machine(gpu=False)


def machine(**cpu: Any) -> MachineFacts:
    """Return this machine with other facts about its CPU, and no variables that are set."""
    return replace(here(), cpu=replace(here().cpu, **cpu), environment={})


def names(run: RunFacts, on: MachineFacts | None = None) -> set[str]:
    return {advice.name for advice in advise(run, on or here())}


def advice_named(name: str, run: RunFacts, on: MachineFacts | None = None) -> Advice:
    found = [advice for advice in advise(run, on or here()) if advice.name == name]
    assert found, f"{name} is not among {names(run, on)}; stages: {run.stats.stages}"
    return found[0]
