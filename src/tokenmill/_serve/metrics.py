"""Counters and gauges of a service -> the text that Prometheus reads.

Nothing is counted here: one collector reads what all workers have counted in memory that they
share, so any worker answers for all of them, and a request costs nothing more. Names follow
Dynamo's, with our prefix; times have buckets from 5 us.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tokenmill._errors import MissingDependency
from tokenmill._service.counters import BUCKETS
from tokenmill._service.gauges import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import HistogramMetricFamily, Metric

    from tokenmill._service.gauges import Gauges
    from tokenmill._service.service import Service

_ENCODE = ("encode", "encode_batch", "count", "chat")
_BOUNDS = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
_CACHE_COUNTS = {
    "hits": ("cache_hits", "Segments found in the cache."),
    "misses": ("cache_misses", "Segments not found in the cache."),
    "cached_tokens": ("cache_hit_tokens", "Tokens that came from the cache."),
    "differences": ("cache_differences", "Cached answers that were wrong when encoded again."),
}


class ServiceCollector:
    """A collector of prometheus_client over one service."""

    def __init__(self, service: Service, gauges: Gauges) -> None:
        self._service = service
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        """Return all metrics as they are now."""
        state = self._service.counters.as_dict(list(self._service.models))
        yield from _requests(state)
        yield from _times(state)
        yield from self._now(state)
        yield from self._health()
        if self._service.cache is not None:
            yield from self._cache(state)

    def _now(self, state: dict[str, Any]) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        gauges = self._gauges
        yield GaugeMetricFamily("tokenmill_inflight", "Requests on threads.", state["inflight"])
        queued = state["queued"] + gauges.sum("in_line")
        yield GaugeMetricFamily("tokenmill_queued", "Requests that wait.", queued)
        yield GaugeMetricFamily("tokenmill_workers", "Processes that serve.", gauges.sum("alive"))
        memory = GaugeMetricFamily("tokenmill_memory_bytes", "Memory by owner.", labels=["owner"])
        for owner in ("resident", "model", "table", "cache"):
            memory.add_metric([owner], gauges.sum(f"{owner}_bytes"))
        yield memory
        yield GaugeMetricFamily(
            "tokenmill_memory_used_ratio",
            "Resident memory of the worker that uses most, as a share of the limit; 0 without one.",
            gauges.most("memory_ratio"),
        )

    def _health(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        gauges = self._gauges
        yield GaugeMetricFamily(
            "tokenmill_ready", "1 if all workers are ready.", gauges.least("ready")
        )
        doing = GaugeMetricFamily(
            "tokenmill_health_action", "Workers that take this action now.", labels=["action"]
        )
        for action in ACTIONS:
            doing.add_metric([action], gauges.sum(f"doing_{action}"))
        yield doing
        for name, gauge, text in (
            ("health_events", "health_events", "Health rules that tripped or cleared."),
            ("failures", "failures", "Requests that ended with an error of the service."),
            ("worker_restarts", "restarts", "Workers that were restarted."),
        ):
            yield CounterMetricFamily(f"tokenmill_{name}", text, gauges.sum(gauge))

    def _cache(self, state: dict[str, Any]) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        gauges, prefix = self._gauges, "tokenmill_tokenizer_cache"
        for name, (gauge, text) in _CACHE_COUNTS.items():
            yield CounterMetricFamily(f"{prefix}_{name}", text, gauges.sum(gauge))
        tokens = sum(
            found["tokens"]
            for operations in state["models"].values()
            for name, found in operations.items()
            if name in _ENCODE
        )
        uncached = max(0.0, tokens - gauges.sum("cache_hit_tokens"))
        yield CounterMetricFamily(
            f"{prefix}_uncached_tokens", "Tokens that were encoded.", uncached
        )
        yield GaugeMetricFamily(
            f"{prefix}_saved_seconds",
            "Encoding time that the cache saved, less the time for looking up; may fall.",
            gauges.sum("cache_saved_seconds"),
        )


def exposition(service: Service, gauges: Gauges) -> tuple[bytes, str]:
    """Return the page `/metrics` and its content type."""
    try:
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    except ImportError as error:
        hint = "pip install 'tokenmill[serve]'"
        raise MissingDependency(
            "not installed, but /metrics needs it", name="prometheus_client", hint=hint
        ) from error
    registry = CollectorRegistry()
    registry.register(ServiceCollector(service, gauges))
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _requests(state: dict[str, Any]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily

    requests = CounterMetricFamily(
        "tokenmill_requests", "Requests that ended.", labels=["model", "operation", "status"]
    )
    tokens = CounterMetricFamily(
        "tokenmill_tokens", "Tokens of answers.", labels=["model", "operation"]
    )
    size = CounterMetricFamily(
        "tokenmill_input_bytes", "Bytes of requests.", labels=["model", "operation"]
    )
    for model, operation, found in _operations(state):
        for status, count in found["status"].items():
            requests.add_metric([model, operation, status], count)
        tokens.add_metric([model, operation], found["tokens"])
        size.add_metric([model, operation], found["bytes"])
    rejected = CounterMetricFamily(
        "tokenmill_rejected", "Requests refused at once.", labels=["reason"]
    )
    for reason, count in state["rejected"].items():
        rejected.add_metric([reason], count)
    yield from (requests, tokens, size, rejected)


def _times(state: dict[str, Any]) -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily

    labels = ["model", "operation"]
    request = HistogramMetricFamily(
        "tokenmill_request_seconds", "From the request to its answer.", labels=labels
    )
    queue = HistogramMetricFamily(
        "tokenmill_queue_seconds",
        "Time that requests waited for a thread, if they waited.",
        labels=labels,
    )
    encode = HistogramMetricFamily(
        "tokenmill_tokenize_seconds", "Text to ids, without waiting.", labels=labels
    )
    decode = HistogramMetricFamily(
        "tokenmill_detokenize_seconds", "Ids to text, without waiting.", labels=labels
    )
    template = HistogramMetricFamily(
        "tokenmill_template_seconds", "Rendering of chat templates.", labels=["model"]
    )
    for model, operation, found in _operations(state):
        names = [model, operation]
        _add(request, names, found["request_seconds"])
        _add(queue, names, found["queue_seconds"])
        if operation in _ENCODE:
            _add(encode, names, found["work_seconds"])
        elif operation == "decode":
            _add(decode, names, found["work_seconds"])
        if operation == "chat":
            _add(template, [model], found["template_seconds"])
    delay = HistogramMetricFamily(
        "tokenmill_event_loop_delay_seconds", "How late the event loop is, ten times a second."
    )
    _add(delay, [], state["loop_lag"])
    line = HistogramMetricFamily(
        "tokenmill_line_seconds", "Time that requests waited for the event loop, if they waited."
    )
    _add(line, [], state["line"])
    yield from (request, queue, encode, decode, template, delay, line)


def _add(family: HistogramMetricFamily, labels: list[str], times: dict[str, Any]) -> None:
    counts = accumulate(times["buckets"])
    family.add_metric(labels, list(zip(_BOUNDS, counts, strict=True)), times["sum"])


def _operations(state: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for model, operations in state["models"].items():
        for operation, found in operations.items():
            yield model, operation, found
