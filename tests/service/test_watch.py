"""Watch: measures of a service, what is done about them, and samples of the recent past."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from tokenmill._service import watch as watch_module
from tokenmill._service.counters import Counters
from tokenmill._service.gauges import Gauges
from tokenmill._service.watch import Watch

if TYPE_CHECKING:
    import pytest

MIB = 1 << 20


class FakeCache:
    """A cache with the numbers that a test wants."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.saved = 0.0
        self.hit_tokens = 0

    def clear(self) -> None:
        """Forget nothing: nothing is here."""

    def resize(self, memory_bytes: int) -> None:
        self.sizes.append(memory_bytes)

    def stats(self) -> dict[str, Any]:
        memory = {
            "budget": 64 * MIB,
            "bytes": 9,
            "hits": 1,
            "lookups": 3,
            "hit_tokens": self.hit_tokens,
        }
        return {"memory": memory, "saved_seconds": self.saved, "differences": 0}


class FakeService:
    """What a Watch sees and does of a service."""

    def __init__(self, cache: FakeCache | None = None, memory_limit: int | None = None) -> None:
        self.counters = Counters(1)
        self.models = {"a": None}
        self.limits = SimpleNamespace(memory_limit=memory_limit)
        self.cache = cache
        self.ready = True
        self.done: list[Any] = []

    def memory(self) -> dict[str, int]:
        return {"mapped": 5 * MIB, "tables": 2 * MIB}

    def narrow(self, *, is_narrow: bool) -> None:
        self.done.append(("narrow", is_narrow))

    def release_tables(self) -> None:
        self.done.append("release")


def watch_of(service: FakeService, **options: Any) -> Watch:
    return Watch(cast("Any", service), **options)


def test_memory_near_its_limit_is_given_back_until_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = FakeCache()
    service = FakeService(cache, memory_limit=100 * MIB)
    watch = watch_of(service)
    use = 50 * MIB
    monkeypatch.setattr(watch_module, "resident_bytes", lambda: use)
    assert watch.look(0.0) == []
    use = 99 * MIB
    assert watch.look(1.0) == []
    assert {event.action for event in watch.look(3.0)} == {"shrink_cache", "release_tables"}
    assert cache.sizes[-1] == 16 * MIB
    assert "release" in service.done
    watch.look(6.0)
    assert (watch.health.state, watch.is_ready) == ("failing", False)
    use = 50 * MIB
    for second in range(7, 15):
        watch.look(float(second))
    assert (watch.health.state, watch.is_ready) == ("ok", True)
    assert cache.sizes[-1] == 64 * MIB


def test_a_long_queue_is_shed_and_comes_back() -> None:
    service = FakeService()
    watch = watch_of(service)
    place = service.counters.place(0, "encode")
    for second in range(4):
        service.counters.ended(place, "ok", 1, (1.0, 1.0, 0.0))
        watch.look(float(second))
    assert ("narrow", True) in service.done
    for second in range(4, 20):
        watch.look(float(second))
    assert service.done[-1] == ("narrow", False)


def test_failures_of_the_service_fail_readiness() -> None:
    service, failed = FakeService(), 0
    watch = watch_of(service, failures=lambda: failed)
    place = service.counters.place(0, "encode")
    for second in range(8):
        failed += 1
        for _ in range(4):
            service.counters.ended(place, "ok", 1, (1e-4, 0.0, 1e-4))
        watch.look(float(second))
    assert not watch.is_ready
    for second in range(8, 30):
        watch.look(float(second))
    assert watch.is_ready


def test_errors_of_callers_do_not() -> None:
    service = FakeService()
    watch = watch_of(service)
    place = service.counters.place(0, "encode")
    for second in range(20):
        service.counters.ended(place, "error", 1, (1e-4, 0.0, 1e-4))
        watch.look(float(second))
    assert watch.health.state == "ok"


def test_samples_are_rates_of_all_processes() -> None:
    service, gauges = FakeService(FakeCache()), Gauges(2)
    watch = watch_of(service, gauges=gauges)
    gauges.write(1, {"resident_bytes": 7.0, "cache_hit_tokens": 0.0})
    watch.look(0.0)
    place = service.counters.place(0, "encode")
    for _ in range(30):
        service.counters.ended(place, "ok", 10, (3e-5, 0.0, 3e-5))
        service.counters.tokens(place, 4)
    service.counters.rejected(place, "max_queue")
    cast("FakeCache", service.cache).hit_tokens = 60
    cast("FakeCache", service.cache).saved = 0.5
    watch.look(2.0)
    sample = watch.samples[-1]
    assert (sample["requests"], sample["rejected"], sample["tokens"]) == (15.0, 0.5, 60.0)
    assert 2e-5 < sample["p99"] <= 5e-5
    assert sample["memory"] > 7.0
    assert (sample["cache_share"], sample["cache_saved"]) == (0.5, 0.25)


def test_a_process_that_serves_and_is_not_ready_counts_for_all() -> None:
    gauges = Gauges(3)
    gauges.write(0, {"alive": 1, "ready": 1})
    assert gauges.all_ready()
    gauges.write(1, {"alive": 1})
    assert not gauges.all_ready()
    gauges.write(1, {"alive": 0})
    assert gauges.all_ready()


def test_events_are_reported_and_counted_in_the_gauges(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[str] = []
    service = FakeService(memory_limit=100)
    watch = watch_of(service, report=lambda event: reported.append(str(event)))
    monkeypatch.setattr(watch_module, "resident_bytes", lambda: 92)
    watch.look(0.0)
    watch.look(2.0)
    assert reported == ["health: start shrink_cache: memory is 0.92"]
    assert watch.gauges.sum("health_events") == 1
    assert watch.gauges.sum("doing_shrink_cache") == 1
    watch.stop()
    assert watch.gauges.sum("alive") == 0
