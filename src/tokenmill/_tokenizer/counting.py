"""The counters of one call, or of all calls of a tokenizer: what `Tokenizer.stats` returns."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tokenmill._core import CallCounts
from tokenmill._stats import RunStats, StageTotal, owners_of, stages_of, words_of

if TYPE_CHECKING:
    from tokenmill._calls.batch import TokenBatch
    from tokenmill._calls.encoded import EncodedBatch
    from tokenmill._tokenizer.batches import Batches


def encode_counted(batches: Batches, texts: Any, **options: Any) -> TokenBatch | EncodedBatch:
    """Encode many texts, and put the counters of this call into the result."""
    counts = CallCounts(exact=True)
    begin = time.perf_counter()
    batch = batches.encode(texts, counts=counts, **options)
    seconds = time.perf_counter() - begin
    owners = owners_of(batches.model.memory()) | {"results": batch.nbytes}
    on_device = getattr(batch, "device", "cpu") != "cpu"
    batch.stats = stats_of_call(counts, seconds, owners, "device" if on_device else "other")
    return batch


def stats_of_call(
    counts: CallCounts, seconds: float, owners: dict[str, int], rest: str = "other"
) -> RunStats:
    """Return what a call counted that took so long; the core did not do the `rest`."""
    counted = counts.as_dict()
    threads = max(counted["threads"], 1)
    stages = stages_of(counted)
    outside = max(seconds - counted["wall_seconds"], 0.0)  # on one thread: the others had no work
    _add(stages, rest, outside)
    _add(stages, "wait_input", outside * (threads - 1))
    return RunStats(seconds, threads, stages, words_of(counted), owners)


def stats_since_load(model: Any) -> RunStats:
    """Return what all calls of a model have counted: seconds of one thread after the other."""
    counted = model.counters()
    stages = stages_of(counted)
    seconds = sum(total.seconds for total in stages.values())
    return RunStats(seconds, 1, stages, words_of(counted), owners_of(model.memory()))


def _add(stages: dict[str, StageTotal], name: str, seconds: float) -> None:
    before = stages.get(name, StageTotal())
    if seconds > 0:
        stages[name] = StageTotal(before.seconds + seconds, before.bytes)
