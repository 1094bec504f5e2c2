"""The counter of calls: one for each call of the interface, however many texts and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill import SegmentCache, Tokenizer

if TYPE_CHECKING:
    from pathlib import Path


def calls_of(tokenizer: Tokenizer) -> int:
    """Return how many calls a tokenizer has counted."""
    return int(tokenizer.ready.model.counters()["calls"])


def test_each_call_counts_once(small_json: Path) -> None:
    tokenizer = Tokenizer.load(small_json, tables="small")  # a model of its own
    before = calls_of(tokenizer)
    for _ in range(3):
        tokenizer.encode("some text")
    tokenizer.encode_batch(["a", "b", "c"], threads=1)
    tokenizer.encode_batch(["some text " * 50] * 400, threads=2)
    tokenizer.encode_batch(["long " * 400_000, "short"], threads=2)  # one text for two threads
    tokenizer.encode("long " * 400_000)
    tokenizer.count("some text")
    assert calls_of(tokenizer) - before == 8


def test_a_cache_is_an_owner_of_memory(small_json: Path) -> None:
    tokenizer = Tokenizer.load(small_json)
    before = tokenizer.stats().memory["cache"]
    cache = SegmentCache(1 << 20, min_bytes=16)
    empty = tokenizer.stats().memory["cache"]
    cache.encode(tokenizer, "some text that is long enough " * 100)
    now = tokenizer.stats().memory["cache"]
    assert now - before == cache.stats()["memory"]["bytes"]
    assert now > empty
    of_call = tokenizer.encode_batch(["a"], stats=True).stats
    assert of_call is not None
    assert of_call.memory["cache"] == now
    del of_call
    del cache
    assert tokenizer.stats().memory["cache"] == before
