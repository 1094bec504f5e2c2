"""How much of a run is done, and how long the rest will take, over both of its phases.

Bytes of input that are left say how long tokenizing takes; tokens that are in no shard yet say how
long packing takes afterwards. While tokenizing, the speed of packing is not known: it is what the
run has packed until then or, before the first shard, a usual one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._mill.meter import READING, REWRITE

if TYPE_CHECKING:
    from tokenmill._mill.meter import Meter
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._mill.watch.recent import Speeds

_USUAL_PACK_RATE = 40e6  # tokens a second, worker and format: an AMD EPYC (Zen 4) on 2026-11-18
_FIRST_SECONDS = 2.0  # before that, a rate says nothing


@dataclass(frozen=True)
class Goals:
    """Where reading ends before the inputs do, None without a limit; and how often to write."""

    documents: int | None = None
    tokens: int | None = None
    formats: int = 1

    @classmethod
    def of(cls, plan: Plan) -> Goals:
        """Return the limits of a plan. One of tokens ends the reading only in the plan's order."""
        s = plan.settings
        chosen = any(source.weight or source.max_tokens is not None for source in plan.sources)
        if s.shuffle == "docs" or s.validation or chosen:
            return cls(s.limit_documents, None, len(s.formats))
        rows = s.max_sequences * (s.context_length or 0) if s.max_sequences else None
        tokens = min((n for n in (s.max_tokens, rows) if n), default=None)
        return cls(s.limit_documents, tokens, len(s.formats))


def share_read(meter: Meter, goals: Goals) -> float | None:
    """Return how much of the reading is done; None if nobody knows how much there is."""
    shares = [meter.input_bytes / meter.total_bytes] if meter.total_bytes else []
    shares += [meter.tokens / goals.tokens] if goals.tokens else []
    shares += [meter.documents / goals.documents] if goals.documents else []
    return min(1.0, max(shares)) if shares else None


def share_done(meter: Meter, goals: Goals) -> float | None:
    """Return how much of the current phase is done, if that is known."""
    if meter.phase in READING:
        return share_read(meter, goals)
    return min(1.0, meter.packed_tokens / meter.total_tokens) if meter.total_tokens else None


def seconds_left(meter: Meter, speeds: Speeds, goals: Goals, workers: int = 1) -> float | None:
    """Return how long the rest of the run will take, packing included; None if unknown."""
    usual = _USUAL_PACK_RATE * workers / goals.formats
    is_known = speeds.now.seconds >= _FIRST_SECONDS
    if meter.phase not in READING:
        left = max(0, meter.total_tokens - meter.packed_tokens)
        packing = speeds.seconds_for("packed_tokens", left) if is_known else None
        return left / usual if packing is None else packing
    share = share_read(meter, goals)
    if not is_known or share is None or meter.input_bytes <= 0:
        return None
    whole = meter.input_bytes / share if share > 0 else meter.total_bytes
    reading = speeds.seconds_for("input_bytes", max(0.0, whole - meter.input_bytes))
    if reading is None or meter.phase == REWRITE:
        return reading
    return reading + _packing(meter, share) / usual


def _packing(meter: Meter, share: float) -> float:
    """Return how many tokens will be in no shard when all is read."""
    if meter.packed_tokens:  # shards are made on the way: what waits now will wait then
        return max(0, meter.tokens - meter.packed_tokens)
    return meter.tokens / share if share > 0 else 0.0
