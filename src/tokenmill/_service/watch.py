"""Looks at a service once a second: measures it, acts on what the health rules say, remembers.

::

    counters, gauges, memory -> measures -> Health -> actions on the service
                                         -> samples of the last minutes, for people

Health is that of one process, from its own counts. Samples are of all processes together.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from tokenmill._platform.memory import resident_bytes
from tokenmill._service.gauges import ACTIONS, Gauges
from tokenmill._service.health import USUAL_RULES, Health, HealthEvent
from tokenmill._service.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._service.health import HealthRule
    from tokenmill._service.service import Service

_PERIOD = 1.0  # seconds
_HEALTH_SECONDS = 10.0
_SAMPLES = 300


class Watch:
    """The health and the recent past of a service; `start` it on the event loop."""

    def __init__(
        self,
        service: Service,
        *,
        gauges: Gauges | None = None,
        rules: Sequence[HealthRule] = USUAL_RULES,
        failures: Callable[[], int] = lambda: 0,
        in_line: Callable[[], int] = lambda: 0,
        report: Callable[[HealthEvent], None] = lambda _: None,
    ) -> None:
        self._service = service
        self._row = service.counters.row
        self._failures = failures
        self._in_line = in_line
        self._report = report
        self._window = Window(_HEALTH_SECONDS)  # of this process
        self._all = Window(_PERIOD)
        self._last_failures = deque([0], maxlen=int(_HEALTH_SECONDS / _PERIOD))
        self._last_saved = deque([0.0], maxlen=int(_HEALTH_SECONDS / _PERIOD))
        self._timer: asyncio.TimerHandle | None = None
        cache = service.cache
        self._budget: int = 0 if cache is None else cache.stats()["memory"]["budget"]
        self.gauges = Gauges() if gauges is None else gauges
        self.health = Health(rules)
        self.samples: deque[dict[str, Any]] = deque(maxlen=_SAMPLES)

    def start(self) -> None:
        """Look now, and once a second from now on."""
        self.look()
        self._timer = asyncio.get_running_loop().call_later(_PERIOD, self.start)

    def stop(self) -> None:
        """Look no more; the row of this process is empty afterwards."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.gauges.write(self._row, {"alive": 0.0, "ready": 0.0})

    @property
    def is_ready(self) -> bool:
        """Whether the health rules leave the service ready."""
        return "fail_readiness" not in self.health.actions

    def look(self, now: float | None = None) -> list[HealthEvent]:
        """Measure everything once, act, and return what changed."""
        now = time.time() if now is None else now
        found = self._read()
        events = self.health.observe(now, self._measures(now, found))
        for event in events:
            self._report(event)
        if events:
            self._act()
        self.gauges.write(self._row, found | self._state())
        self.samples.append(self._sample(now))
        return events

    def _read(self) -> dict[str, float]:
        """Return the gauges of this process."""
        limit = self._service.limits.memory_limit
        resident = resident_bytes() or 0
        use = self._service.memory()
        return {
            "alive": 1.0,
            "in_line": self._in_line(),
            "resident_bytes": resident,
            "memory_ratio": resident / limit if limit else 0.0,
            "model_bytes": use["mapped"],
            "table_bytes": use["tables"],
            "failures": self._failures(),
            **self._cache(),
        }

    def _cache(self) -> dict[str, float]:
        cache = self._service.cache
        if cache is None:
            return {}
        stats = cache.stats()
        memory = stats["memory"]
        return {
            "cache_bytes": memory["bytes"],
            "cache_hits": memory["hits"],
            "cache_misses": memory["lookups"] - memory["hits"],
            "cache_hit_tokens": memory["hit_tokens"],
            "cache_saved_seconds": stats["saved_seconds"],
            "cache_differences": stats["differences"],
        }

    def _measures(self, now: float, found: dict[str, float]) -> dict[str, float]:
        service = self._service
        change = self._window.add(now, service.counters.as_dict(list(service.models), self._row))
        failed = found["failures"] - self._last_failures[0]
        self._last_failures.append(int(found["failures"]))
        measures = {
            "queue_seconds": max(change.quantile("queue", 0.95) or 0.0, change.line(0.95) or 0.0),
            "loop_lag_seconds": change.lag(0.99) or 0.0,
            "errors": failed / max(change.requests, 1) if failed else 0.0,
        }
        if service.limits.memory_limit:
            measures["memory"] = found["memory_ratio"]
        if service.cache is not None:
            saved = found["cache_saved_seconds"]
            measures["cache_loss_seconds"] = self._last_saved[0] - saved
            self._last_saved.append(saved)
        return measures

    def _act(self) -> None:
        """Do what the rules ask for now, and undo what they no longer ask for."""
        actions, service = self.health.actions, self._service
        service.narrow(is_narrow="shed" in actions)
        if service.cache is not None:
            budget = self._budget // 4 if "shrink_cache" in actions else self._budget
            service.cache.resize(budget)
        if "release_tables" in actions:
            service.release_tables()

    def _state(self) -> dict[str, float]:
        actions = self.health.actions
        return {
            "ready": float(self._service.ready and self.is_ready),
            "health_events": self.health.event_count,
            **{f"doing_{action}": float(action in actions) for action in ACTIONS},
        }

    def _sample(self, now: float) -> dict[str, Any]:
        """Return rates and percentiles of the last second, of all processes."""
        service, gauges = self._service, self.gauges
        state = service.counters.as_dict(list(service.models))
        change = self._all.add(now, state)
        rate = change.rate
        sample: dict[str, Any] = {
            "at": now,
            "requests": rate(change.requests - change.rejected),
            "rejected": rate(change.rejected),
            "tokens": rate(change.tokens),
            "p50": change.quantile("request", 0.5),
            "p95": change.quantile("request", 0.95),
            "p99": change.quantile("request", 0.99),
            "inflight": state["inflight"],
            "queued": state["queued"] + gauges.sum("in_line"),
            "loop_delay": change.lag(0.99),
            "memory": gauges.sum("resident_bytes"),
        }
        if service.cache is not None:
            sample |= self._cache_sample(change.seconds, change.tokens)
        return sample

    def _cache_sample(self, seconds: float, tokens: int) -> dict[str, Any]:
        last = self.samples[-1] if self.samples else {}
        hits, saved = self.gauges.sum("cache_hit_tokens"), self.gauges.sum("cache_saved_seconds")
        new_hits = hits - last.get("_hits", hits)
        return {
            "cache_bytes": self.gauges.sum("cache_bytes"),
            "cache_share": new_hits / tokens if tokens else None,
            "cache_saved": (saved - last.get("_saved", saved)) / seconds if seconds else 0.0,
            "_hits": hits,
            "_saved": saved,
        }
