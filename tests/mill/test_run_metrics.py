"""Metrics of a run: a file for Prometheus, and OTLP to a collector on this machine."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tokenmill import pack
from tokenmill._mill.meter import Meter
from tokenmill._mill.watch import otlp
from tokenmill._mill.watch.beat import Pulse
from tokenmill._mill.watch.exporters import MetricsFile
from tokenmill._mill.watch.metrics import as_prometheus, metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = [json.dumps({"text": f"document {number}"}) for number in range(50)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([*lines, "{"]))
    return path


def values_of(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Parse the file as Prometheus does."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_file_has_what_the_run_did(corpus: Path, small_json: Path, tmp_path: Path) -> None:
    output, path = tmp_path / 'o"ut\\', tmp_path / "pack.prom"
    manifest = pack(corpus, output=output, tokenizer=small_json, context_length=64, metrics=path)
    found = values_of(path.read_text())
    assert [file.name for file in tmp_path.glob("*.prom*")] == ["pack.prom"]
    mine = ("output", str(output))

    def value(name: str, *labels: tuple[str, str]) -> float:
        return found[f"tokenmill_pack_{name}", frozenset([mine, *labels])]

    assert value("documents_total") == 50
    assert value("tokens_total") == value("packed_tokens_total") == manifest.tokens["in"]
    assert value("read_bytes_total") == value("input_bytes") == corpus.stat().st_size
    assert value("bad_records_total", ("reason", "bad_json")) == 1
    assert value("state", ("state", "finished")) == 1
    assert value("state", ("state", "running")) == 0
    assert value("memory_bytes", ("owner", "resident")) > 1e6


@pytest.mark.skipif(
    shutil.which("promtool") is None, reason="needs promtool: apt-get install prometheus"
)
def test_promtool_accepts_the_file() -> None:
    meter = Meter(total_bytes=100, input_bytes=10)
    meter.add_bad({"bad_json": 2})
    text = as_prometheus(metrics_of(Pulse(meter).beat()), (("output", "a\nb"),))
    ran = subprocess.run(
        ["promtool", "check", "metrics"],  # noqa: S607
        input=text,
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, b"")


def test_counters_end_in_total_and_gauges_do_not() -> None:
    for metric in metrics_of(Pulse(Meter(total_bytes=1)).beat()):
        assert not metric.name.endswith("_total")
        assert metric.text.endswith(".")


def test_a_file_that_cannot_be_written_is_named_once(tmp_path: Path) -> None:
    file, pulse = MetricsFile(tmp_path / "no" / "pack.prom"), Pulse(Meter())
    with pytest.warns(RuntimeWarning, match=r"pack\.prom cannot be written: No such file"):
        file.hear(pulse.beat())
    file.hear(pulse.beat())  # a second warning would be an error here
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor does a strict filter stop the run
        MetricsFile(tmp_path / "no" / "pack.prom").hear(pulse.beat())


class Collector:
    """A collector of OTLP over HTTP that keeps what it is sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        keep = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                gzipped = self.headers.get("Content-Encoding") == "gzip"
                keep.append(gzip.decompress(body) if gzipped else body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def metrics(self) -> dict[Any, Any]:
        """Parse the last request; values by name and labels."""
        proto = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
        request = proto.ExportMetricsServiceRequest.FromString(self.bodies[-1])
        resource = request.resource_metrics[0]
        found: dict[Any, Any] = {
            each.key: each.value.string_value for each in resource.resource.attributes
        }
        for metric in resource.scope_metrics[0].metrics:
            points = (metric.sum if metric.HasField("sum") else metric.gauge).data_points
            found[metric.name] = {
                tuple(label.value.string_value for label in point.attributes): point.as_double
                or point.as_int
                for point in points
            }
            found[metric.name, "unit"] = metric.unit
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otlp")
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.parametrize("by", ["environment", "option"])
def test_a_collector_gets_the_metrics(
    by: str, collector: Collector, corpus: Path, small_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, output = None, corpus.parent / "out"
    if by == "environment":
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    else:
        url = f"{collector.url}/v1/metrics"
    manifest = pack(corpus, output=output, tokenizer=small_json, context_length=64, otlp=url)
    found = collector.metrics()
    assert found["service.name"] == "tokenmill"
    assert found["tokenmill.output"] == str(output)
    assert found["tokenmill_pack_tokens"] == {(): manifest.tokens["in"]}
    assert found["tokenmill_pack_bad_records"] == {("bad_json",): 1}
    assert found["tokenmill_pack_state"]["finished",] == 1
    assert found["tokenmill_pack_read_bytes", "unit"] == "By"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_METRICS_EXPORTER": "none"},
    ],
)
def test_nothing_is_sent_unless_it_is_asked_for(environment: dict[str, str]) -> None:
    assert otlp.otlp_export(None, environment) is None


def test_a_missing_library_is_said_once_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "find_spec", lambda _: None)
    with pytest.warns(RuntimeWarning, match=r"tokenmill\[otlp\]"):
        assert otlp.otlp_export("http://127.0.0.1:9") is None


def test_a_collector_that_is_away_stops_nothing(
    corpus: Path, small_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otlp")
    monkeypatch.setattr(otlp, "_LAST_SECONDS", 0.2)
    manifest = pack(
        corpus,
        output=tmp_path / "o",
        tokenizer=small_json,
        context_length=64,
        otlp="http://127.0.0.1:9/v1/metrics",
    )
    assert manifest.documents["out"] == 50
