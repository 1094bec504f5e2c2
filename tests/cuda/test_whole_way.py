"""Files to rows and to shards through every kernel, on a device whose streams are late."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.devices import HostDevice
from tests.cuda.shim import build
from tests.mill.corpus import LONGEST, Corpus, dirty_corpus
from tests.mill.outputs import BOS, digests

from tokenmill import PackedDataset, Tokenizer, pack
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.encoder import GpuEncoder
from tokenmill._cuda.options import DeviceOptions
from tokenmill._mill.device import choose as device_module
from tokenmill._mill.device.rows import DeviceRowStream

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ("input_ids", "labels", "position_ids", "segment_ids", "attention_mask")
OPTIONS: list[dict[str, Any]] = [
    {"context_length": 64, "overlap": 7, "tail": "pad"},
    {"context_length": 64, "bos": BOS, "special_in_text": "encode", "tail": "pad"},
]


Engines = tuple[GpuEncoder, Tokenizer]


class PoolDevice(HostDevice):
    """A device whose memory is not used again before its stream is done with it, like in a pool."""

    def __init__(self, library: Path) -> None:
        super().__init__(library, shuffle=11)
        self._pool: list[Any] = []

    def zeros(self, count: int, dtype: Any) -> Any:
        self._pool.append(super().zeros(count, dtype))
        return self._pool[-1]


@pytest.fixture(scope="module")
def engines(small_json: Path, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    folder = tmp_path_factory.mktemp("kernels")

    def connect(defines: Mapping[str, int]) -> Any:
        return PoolDevice(build(folder, defines))

    tokenizer = Tokenizer.load(small_json)
    options = DeviceOptions(batch_bytes=1 << 18)
    gpu = DeviceTokenizer(tokenizer.ready, 0, options, connect=connect)
    return GpuEncoder(gpu), tokenizer


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_shards_and_rows_are_those_of_the_cpu(
    options: dict[str, Any],
    engines: Engines,
    dirty: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder, tokenizer = engines
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(device_module, "_open_device", lambda *_: encoder)
    given: dict[str, Any] = {"max_document_bytes": LONGEST, **options}
    for device in ("cpu", "cuda"):
        output = tmp_path / device
        pack(dirty.paths, output=output, tokenizer=tokenizer, workers=3, device=device, **given)
    assert digests(tmp_path / "cpu") == digests(tmp_path / "cuda")
    stored = PackedDataset(tmp_path / "cpu", columns=COLUMNS, torch=False)
    wanted = stored.batch(np.arange(len(stored)))
    rows = DeviceRowStream(
        dirty.paths, tokenizer, columns=COLUMNS, encoder=encoder, batch_bytes=40_000, **given
    )
    batches = list(rows)  # late: later batches must not have overwritten it
    for name in COLUMNS:
        found = np.concatenate([encoder.backend.to_host(batch[name]) for batch in batches])
        assert np.array_equal(found, wanted[name]), name
    assert not rows.fallbacks


def test_the_check_for_real_devices_finds_rows_equal(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = import_module("_gpu_rows")
    encoder, tokenizer = engines
    text = np.frombuffer("hello world\ncaf\u00e9 12\n\n".encode() * 400, np.uint8)
    cut = import_module("_gpu_texts").cut("text", text, 50)
    flat = (cut.data, cut.offsets)
    assert len(cut.offsets) > 100
    reports = list(tool.check(encoder._tokenizer, tokenizer, flat, 64))
    assert [(r.way, r.dtype, r.wrong) for r in reports] == [
        (way, dtype, ()) for way in ("concat", "bestfit") for dtype in ("int64", "int32")
    ]
    assert all(report.tokens > 1000 for report in reports)
    monkeypatch.setattr(tool, "expected", wrong_labels(tool.expected))
    assert {report.wrong for report in tool.check(encoder._tokenizer, tokenizer, flat, 64)} == {
        ("labels",)
    }


def wrong_labels(expected: Any) -> Any:
    """Spoil what the rows are compared with."""

    def spoilt(*arguments: Any) -> list[dict[str, Any]]:
        tables: list[dict[str, Any]] = expected(*arguments)
        tables[-1]["labels"][-1, 0] += 1
        return tables

    return spoilt
