"""Output that the disk takes too slowly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._advice.advice import Advice, percent

if TYPE_CHECKING:
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._record.facts import RunFacts

_WRITES = 0.5
_CACHED_RATE = 1000e6  # bytes a second: faster than most disks, so it is memory that is written


def writing(run: RunFacts, machine: MachineFacts) -> Advice | None:
    """See whether workers write, or wait until written blocks make room."""
    share = run.share("write", "wait_output")
    rate = run.bytes("write") / max(run.seconds("write"), 1e-9)
    if share < _WRITES or rate > _CACHED_RATE:
        return None
    return Advice(
        "writing",
        f"{percent(share)} of the time goes into writing, at {rate / 1e6:,.0f} MB/s a worker",
        f"the disk of the output ({machine.disk.kind}, {machine.disk.file_system}) is slower than "
        "the tokenizer",
        "write to a local SSD, and with one --format; each one writes all tokens again",
    )


ADVISERS = (writing,)
