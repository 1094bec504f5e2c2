"""What the calls of a tokenizer did, for the file that TOKENMILL_STATS_FILE names."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tokenmill._record.facts import RunFacts
from tokenmill._record.file import add_calls
from tokenmill._stats import RunStats
from tokenmill._tokenizer.counting import stats_since_load

if TYPE_CHECKING:
    from tokenmill._model.ready import Ready


def record_calls(ready: Ready) -> None:
    """Report the calls of a model when the process ends; the model is kept until then."""
    began = time.perf_counter()
    add_calls(id(ready), lambda: facts_of(ready, time.perf_counter() - began))


def facts_of(ready: Ready, seconds: float) -> RunFacts:
    """Return what all calls of a model have done in so many seconds."""
    meta = ready.meta
    is_reference = meta["path"] == "reference"
    stats = RunStats(seconds, 1, {}) if is_reference else stats_since_load(ready.model)
    counted = {"documents": 1, "calls": 1} if is_reference else ready.model.counters()
    return RunFacts(
        kind="calls",
        tokenizer=meta["name"],
        path=meta["path"],
        stats=stats,
        reasons=tuple(meta["reasons"]),
        target="" if is_reference else ready.model.target,
        tables=ready.tables,
        documents=counted["documents"],
        calls=counted["calls"],
        process_seconds=seconds,
    )
