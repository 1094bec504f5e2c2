"""Which rank this process is: as given, or as a scheduler says if it is asked with `auto`."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from typing import Any

from tokenmill._checks import whole_number
from tokenmill._errors import Hint, Option, OptionError
from tokenmill._mill.output.process_facts import process_facts

AUTO = "auto"
LEASE_SECONDS = 120.0
_LEAST_LEASE = 0.1


@dataclass(frozen=True)
class RankPlace:
    """A rank among ranks. `owner` names this process: a rank that is started again has another."""

    rank: int
    ranks: int
    lease: float = LEASE_SECONDS
    owner: str = field(default_factory=lambda: secrets.token_hex(8))

    def facts(self) -> dict[str, Any]:
        """Return who this is, for people and for processes of the same machine."""
        return {"rank": self.rank, "ranks": self.ranks, **process_facts(), "process": os.getpid()}


def read_place(
    rank: int | str | None, ranks: int | None, lease: float | None = None
) -> RankPlace | None:
    """Return the place of this process; None if no rank is given: then it works alone."""
    if rank is None:
        for name, value in (("ranks", ranks), ("lease", lease)):
            if value is not None:
                hint = Hint("also give {}, or {}", Option("rank"), Option("rank", AUTO))
                raise OptionError("expected a rank with it, got none", where=name, hint=hint)
        return None
    if rank == AUTO:
        rank, ranks = _of_scheduler(ranks)
    if ranks is None:
        hint = Hint("also give {}", Option("ranks"))
        raise OptionError("expected the number of ranks, got none", where="ranks", hint=hint)
    count = whole_number("ranks", ranks)
    if isinstance(rank, str) and rank.isdecimal():
        rank = int(rank)
    number = whole_number("rank", rank, least=0, most=count - 1)
    length = LEASE_SECONDS if lease is None else float(lease)
    if not length >= _LEAST_LEASE:
        raise OptionError(f"expected seconds from {_LEAST_LEASE}, got {lease}", where="lease")
    return RankPlace(number, count, length)


def _of_scheduler(ranks: int | None) -> tuple[int, int | None]:
    """Return the rank of a Slurm task, or of a pod of an Indexed Job."""
    task = _number("SLURM_PROCID")
    if task is not None:
        return task, _number("SLURM_NTASKS") if ranks is None else ranks
    index = _number("JOB_COMPLETION_INDEX")
    if index is not None:
        return index, ranks
    raise OptionError(
        "neither SLURM_PROCID nor JOB_COMPLETION_INDEX is set, got 'auto'",
        where="rank",
        hint=Hint("give the number with {}", Option("rank")),
    )


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None
