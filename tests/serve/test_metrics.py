"""`/metrics`: what Prometheus reads of a service."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service.test_watch import FakeCache

from tokenmill import ChatError, Service, Tokenizer
from tokenmill._serve.metrics import exposition
from tokenmill._service.gauges import Gauges

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(service: Service, gauges: Gauges) -> Samples:
    body, kind = exposition(service, gauges)
    assert kind.startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def used_service() -> Service:
    """Return a service that has answered a few requests."""
    service = Service({"a": Tokenizer.load(), "b": Tokenizer.load()}, cache=cast("Any", None))

    async def use() -> None:
        async with service:
            await service.encode("hello world")
            await service.encode("hello world", model="b")
            await service.encode("x " * 200_000, model="b")
            await service.decode([1, 2, 3])
            await service.chat(
                [{"role": "user", "content": "hi"}], template="{{ messages[0].role }}"
            )

    asyncio.run(use())
    return service


def test_requests_tokens_and_bytes_are_counted_by_model() -> None:
    service = used_service()
    found = scraped(service, Gauges())
    ok = (("operation", "encode"), ("status", "ok"))
    assert found["tokenmill_requests_total", (("model", "a"), *ok)] == 1
    assert found["tokenmill_requests_total", (("model", "b"), *ok)] == 2
    encode = ("operation", "encode")
    tokens = len(Tokenizer.load().encode("x " * 200_000)) + 2
    assert found["tokenmill_tokens_total", (("model", "b"), encode)] == tokens
    assert found["tokenmill_input_bytes_total", (("model", "b"), encode)] == 400_011


def test_histograms_add_up() -> None:
    found = scraped(used_service(), Gauges())
    for name, operation in (
        ("request", "encode"),
        ("tokenize", "encode"),
        ("detokenize", "decode"),
    ):
        labels = (("model", "a"), ("operation", operation))
        count = found[f"tokenmill_{name}_seconds_count", labels]
        last = found[f"tokenmill_{name}_seconds_bucket", (("le", "+Inf"), *labels)]
        assert count == last == 1
        assert found[f"tokenmill_{name}_seconds_sum", labels] > 0
        bounds = {
            float(dict(key)["le"]): value
            for (sample, key), value in found.items()
            if sample == f"tokenmill_{name}_seconds_bucket" and set(labels) <= set(key)
        }
        counts = [bounds[bound] for bound in sorted(bounds)]
        assert counts == sorted(counts)


def test_gauges_of_all_workers_are_added_and_the_worst_one_decides() -> None:
    gauges = Gauges(2)
    gauges.write(0, {"ready": 1, "alive": 1, "resident_bytes": 5, "memory_ratio": 0.2})
    gauges.write(1, {"ready": 0, "alive": 1, "resident_bytes": 7, "memory_ratio": 0.9})
    gauges.write(1, {"doing_shed": 1, "restarts": 3})
    found = scraped(Service(Tokenizer.load()), gauges)
    assert found["tokenmill_ready", ()] == 0
    assert found["tokenmill_workers", ()] == 2
    assert found["tokenmill_memory_bytes", (("owner", "resident"),)] == 12
    assert found["tokenmill_memory_used_ratio", ()] == 0.9
    assert found["tokenmill_health_action", (("action", "shed"),)] == 1
    assert found["tokenmill_worker_restarts_total", ()] == 3


def test_a_cache_is_counted_in_tokens_and_seconds() -> None:
    gauges = Gauges()
    gauges.write(0, {"cache_hit_tokens": 40, "cache_saved_seconds": -0.5, "cache_hits": 3})
    service = Service(Tokenizer.load(), cache=cast("Any", FakeCache()))
    found = scraped(service, gauges)
    assert found["tokenmill_tokenizer_cache_cached_tokens_total", ()] == 40
    assert found["tokenmill_tokenizer_cache_uncached_tokens_total", ()] == 0
    assert found["tokenmill_tokenizer_cache_saved_seconds", ()] == -0.5


def test_templates_and_waiting_in_line_have_histograms_of_their_own() -> None:
    service = Service({"a": Tokenizer.load()})

    async def use() -> None:
        async with service:
            chat = [{"role": "user", "content": "hello"}]
            await service.chat(chat, template="{{ messages[0].content }}")
            text = await service.render_chat(chat, template="{{ messages[0].role }}")
            assert text == "user"
            with pytest.raises(ChatError):
                await service.chat(chat, template="{{ raise_exception('no') }}")

    asyncio.run(use())
    service.counters.waited(0.003)
    gauges = Gauges(2)
    gauges.write(0, {"in_line": 2})
    gauges.write(1, {"in_line": 3})
    found = scraped(service, gauges)
    assert found["tokenmill_template_seconds_count", (("model", "a"),)] == 3
    assert found["tokenmill_template_seconds_sum", (("model", "a"),)] > 0
    work = found["tokenmill_tokenize_seconds_sum", (("model", "a"), ("operation", "chat"))]
    assert work > 0
    assert found["tokenmill_line_seconds_bucket", (("le", "0.002"),)] == 0
    assert found["tokenmill_line_seconds_bucket", (("le", "0.005"),)] == 1
    assert found["tokenmill_queued", ()] == 5
