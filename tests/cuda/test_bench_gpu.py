"""`bench gpu` over the kernels as a host library: every way gives the ids of the CPU."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tokenmill._bench import gpu, gpu_task, rounds
from tokenmill._bench.clock import CallClock
from tokenmill._bench.gpu import gpu_groups
from tokenmill._bench.gpu_task import measure_way
from tokenmill._bench.libraries import CannotMeasure
from tokenmill._bench.page import PageParts, page_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cuda.conftest import Bench

TEXTS = ["hello world", "", "hello hello h\u00e9llo " * 20, "wo rld"]


@pytest.mark.parametrize("way", ["resident", "host", "request"])
def test_every_way_is_timed_and_has_the_ids_of_the_cpu(plain: Bench, way: str) -> None:
    found = measure_way(way, plain.gpu(), plain.tokenizer, TEXTS, CallClock(0.01))
    assert found["tokens"] == int(plain.tokenizer.count_batch(TEXTS).sum())
    assert found["sample"]["calls"] >= 5
    assert 0 < found["sample"]["p50"] <= found["sample"]["p99"]


def test_other_ids_are_not_timed(plain: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    device = plain.gpu()
    encode = device.encode_batch

    def other(texts: Any, **options: Any) -> Any:
        batch = encode(texts, **options)
        batch.ids[0] += 1
        return batch

    monkeypatch.setattr(device, "encode_batch", other)
    with pytest.raises(CannotMeasure, match="other ids than the CPU"):
        measure_way("request", device, plain.tokenizer, TEXTS, CallClock(0.01))


def test_the_whole_command_with_processes_in_this_one(
    plain: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain.tokenizer.save(tmp_path / "tokenizer.json")
    monkeypatch.setattr(gpu_task, "DeviceTokenizer", lambda _ready, _device: plain.gpu())
    monkeypatch.setattr(gpu, "check_device", lambda _tokenizer, device: asked.append(device))
    monkeypatch.setattr(
        rounds,
        "run_process",
        lambda body, _threads, **_: gpu_task.run(json.loads(json.dumps(body))),
    )
    asked: list[int] = []
    request = rounds.CallRequest(str(tmp_path / "tokenizer.json"), None, 2, 1, 0.05)
    report = gpu.measure_gpu(request, 3, 6_000, (1_000, 2_000), lambda _text: None)
    assert asked == [3]
    assert [(row.name, len(row.samples)) for row in report.rows] == [
        ("device to device 6 KB", 2), ("host to host 6 KB", 2), ("one request 1 KB", 2),
        ("one request 2 KB", 2),
    ]  # fmt: skip
    assert report.rows[0].ids == report.rows[1].ids
    assert report.rows[2].size_bytes == 1_000
    assert "<svg" in page_of(report, PageParts())


def test_batches_and_requests_are_two_processes() -> None:
    batches, requests = gpu_groups(30_000, (1_000, 5_000), 2)
    assert [case.row.name for case in batches.cases] == [
        "device to device 30 KB", "host to host 30 KB",
    ]  # fmt: skip
    assert [case.row.name for case in requests.cases] == ["one request 1 KB", "one request 5 KB"]
    assert [len(case.texts) for case in requests.cases] == [1, 1]
