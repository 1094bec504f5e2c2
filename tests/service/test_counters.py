"""Counts: what a service did, in memory that forked processes share."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from tokenmill import InvalidUtf8, Service
from tokenmill._service import Counters
from tokenmill._service.counters import BUCKETS, OPERATIONS

if TYPE_CHECKING:
    from tokenmill import Tokenizer


def test_requests_tokens_and_bytes_are_counted_by_model(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service({"a": small, "b": small}) as service:
            await service.encode("hello world")
            await service.encode("hello" * 50_000, model="b")
            await service.count("hello", model="b")
            await service.encode_batch(["hello", "hello world"])
            await service.decode([0, 1])
            with pytest.raises(InvalidUtf8):
                await service.encode(b"\xff")
            models = service.stats()["counters"]["models"]
            assert models["a"]["encode"]["tokens"] == 2
            assert models["a"]["encode"]["bytes"] == 12
            assert models["a"]["encode"]["status"]["error"] == 1
            assert models["a"]["encode_batch"]["tokens"] == 3
            assert models["b"]["encode"]["tokens"] == 50_000
            assert models["b"]["encode"]["work_seconds"]["count"] == 1
            assert models["b"]["count"]["status"]["ok"] == 1
            assert set(models["a"]) == {"encode", "encode_batch", "decode"}
            json.dumps(service.stats())

    asyncio.run(main())


def test_times_are_in_buckets_from_five_microseconds_on() -> None:
    counters = Counters(1)
    place = counters.place(0, "encode")
    times = (4e-6, 5e-6, 6e-6, 0.3, 100.0)
    for seconds in times:
        counters.answered(place, 1, 1, seconds)
    found = counters.as_dict(["m"])["models"]["m"]["encode"]["request_seconds"]
    expected = [0] * (len(BUCKETS) + 1)
    for bucket in (0, 0, 1, BUCKETS.index(0.5), len(BUCKETS)):
        expected[bucket] += 1
    assert found["buckets"] == expected
    assert found["sum"] == pytest.approx(sum(times))


def test_operations_and_models_do_not_share_cells() -> None:
    counters = Counters(3)
    places = [counters.place(model, name) for model in range(3) for name in OPERATIONS]
    for place in places:
        counters.ended(place, "ok", 1, (1e-9, 1e-9, 1e-9))
    names = ["a", "b", "c"]
    for operations in counters.as_dict(names)["models"].values():
        for operation in operations.values():
            assert operation["status"]["ok"] == operation["bytes"] == 1
            for name in ("request", "queue", "work"):
                assert operation[f"{name}_seconds"]["count"] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_any_process_sums_the_rows_of_all() -> None:
    counters = Counters(1, rows=3)
    for row in (1, 2):
        child = os.fork()
        if child == 0:
            counters.claim(row)
            counters.answered(counters.place(0, "encode"), 10, 5, 1e-3)
            counters.lag(row / 1000)
            counters.rejected(counters.place(0, "encode"), "max_queue")
            os._exit(0)
        os.waitpid(child, 0)
    counters.answered(counters.place(0, "encode"), 10, 5, 1e-3)
    total = counters.as_dict(["m"])
    assert total["models"]["m"]["encode"]["status"] == {
        "ok": 3, "error": 0, "timeout": 0, "cancelled": 0, "rejected": 2,
    }  # fmt: skip
    assert total["models"]["m"]["encode"]["tokens"] == 15
    assert total["rejected"]["max_queue"] == 2
    assert total["loop_lag"]["max"] == pytest.approx(0.002)
    assert counters.as_dict(["m"], row=0)["models"]["m"]["encode"]["tokens"] == 5


def test_the_lag_of_the_event_loop_is_measured(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small) as service:
            deadline = time.monotonic() + 30
            while not service.stats()["counters"]["loop_lag"]["count"]:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.01)

    asyncio.run(main())
