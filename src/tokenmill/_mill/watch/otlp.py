"""Metrics of a run for a collector of OpenTelemetry, by its own library.

The standard OTEL_ variables say where to: OTEL_EXPORTER_OTLP_ENDPOINT or
OTEL_EXPORTER_OTLP_METRICS_ENDPOINT turn it on, OTEL_SDK_DISABLED=true or OTEL_METRICS_EXPORTER=none
turn it off. The library sends from a thread of its own; the run never waits for it longer than
`_LAST_SECONDS`, at its end.
"""

from __future__ import annotations

import logging
import os
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tokenmill import __version__
from tokenmill._mill.watch.metrics import metrics_of
from tokenmill._mill.watch.warn import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokenmill._mill.watch.metrics import RunMetric

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
_INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
_USUAL_INTERVAL_MS = 15_000.0  # the library's own is 60 s
_LAST_SECONDS = 2.0
_LIBRARY = "opentelemetry"


def otlp_export(url: str | None, environment: Mapping[str, str] = os.environ) -> OtlpExport | None:
    """Return an export if the option or the environment wants one; say so if it cannot be."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    kinds = environment.get("OTEL_METRICS_EXPORTER", "otlp").split(",")
    if url is None and (
        "otlp" not in [kind.strip() for kind in kinds]
        or not any(environment.get(name) for name in _ENDPOINTS)
    ):
        return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        say("no OTLP metrics: they need `pip install 'tokenmill[otlp]'`")
        return None
    return OtlpExport(url)


class OtlpExport:
    """Sends the newest heartbeat now and then. The library is imported at the first one."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._beat: dict[str, Any] = {}
        self._provider: Any = None
        self._is_broken = False

    def hear(self, beat: dict[str, Any]) -> None:
        """Keep the heartbeat for the next export; at the end of the run, send it."""
        self._beat = beat
        if self._provider is None and not self._is_broken:
            self._start()
        if beat["state"] != "running" and self._provider is not None:
            # A collector that does not answer must not hold up the end of the run.
            last = threading.Thread(target=self._provider.shutdown, daemon=True)
            last.start()
            last.join(_LAST_SECONDS)
            self._provider = None
            self._is_broken = True  # nothing comes after the end

    def _start(self) -> None:
        try:
            self._provider = self._make_provider()
        except Exception as error:  # no fault of the library may stop the run
            self._is_broken = True
            say(f"no OTLP metrics: {error}")

    def _make_provider(self) -> Any:  # a MeterProvider
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource

        _complain_once()
        interval = None if _INTERVAL in os.environ else _USUAL_INTERVAL_MS
        exporter = OTLPMetricExporter(endpoint=self._url, timeout=_LAST_SECONDS)
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=interval)
        beat = self._beat
        resource = Resource.create(
            {
                **({} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "tokenmill"}),
                "service.version": __version__,
                "host.name": beat["host"],
                "process.pid": beat["pid"],
                "tokenmill.output": str(beat.get("output", "")),
            }
        )
        provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        source = provider.get_meter("tokenmill.pack", __version__)
        for metric in metrics_of(beat):
            self._observe(source, metric)
        return provider

    def _observe(self, source: Any, metric: RunMetric) -> None:
        is_counter = metric.kind == "counter"
        make = source.create_observable_counter if is_counter else source.create_observable_gauge
        make(metric.name, [self._reader(metric.name)], metric.unit, metric.text)

    def _reader(self, name: str) -> Callable[[object], list[Any]]:
        from opentelemetry.metrics import Observation

        def values(_options: object) -> list[Any]:
            found = {metric.name: metric for metric in metrics_of(self._beat)}
            if name not in found:
                return []
            return [Observation(value, dict(labels)) for labels, value in found[name].values]

        return values


class _OnlyFirst(logging.Filter):
    """Passes one record, and no other after it."""

    def __init__(self) -> None:
        super().__init__()
        self._has_passed = False

    def filter(self, _record: logging.LogRecord) -> bool:
        passes, self._has_passed = not self._has_passed, True
        return passes


def _complain_once() -> None:
    """Let each part of the library report only the first export that failed."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith((f"{_LIBRARY}.exporter", f"{_LIBRARY}.sdk.metrics")):
            logger = logging.getLogger(name)
            if not any(isinstance(known, _OnlyFirst) for known in logger.filters):
                logger.addFilter(_OnlyFirst())
