"""What every report says with its figures: machine, versions, tokenizer, how it was measured."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from tokenmill._machine.facts import describe_machine
from tokenmill._platform.cpus import load_average

if TYPE_CHECKING:
    from tokenmill._tokenizer import Tokenizer


def about_run(
    tokenizer: Tokenizer, source: str | None, threads: int, *, gpu: bool = False
) -> dict[str, Any]:
    """Return the facts of a run that begins now."""
    machine = describe_machine(gpu=gpu)
    facts = machine.as_json()
    del facts["disk"]["path"]  # reports are passed on, and that is nobody else's business
    return {
        "date": datetime.now(tz=timezone.utc).isoformat(timespec="seconds"),
        "machine": facts,
        "versions": dict(machine.versions),
        "load_average": load_average(),
        "threads": threads,
        "tokenizer": {
            "source": source or "builtin",
            "name": tokenizer.name,
            "vocab_size": tokenizer.vocab_size,
        },
    }
