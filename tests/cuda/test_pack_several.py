"""`pack` on several devices, and where it tokenizes with "auto"."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.cuda.test_json_rows import lines_of
from tests.mill.corpus import LONGEST, Corpus, dirty_corpus
from tests.mill.outputs import digests
from tests.mill.tuned import shrink

from tokenmill import DeviceError, OptionError, pack
from tokenmill._cuda.encoder import GpuEncoder
from tokenmill._cuda.names import device_numbers
from tokenmill._mill.device import choose as device_module
from tokenmill._mill.device import measure
from tokenmill._mill.device.measure import BlockTimes
from tokenmill._mill.pack import pack_task
from tokenmill._mill.plan.task import prepare_task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cuda.conftest import Bench

    from tokenmill._mill.pack import PackResult

COMMON: dict[str, Any] = {
    "context_length": 64,
    "shard_tokens": 4000,
    "max_document_bytes": LONGEST,
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch.setattr)
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


@pytest.fixture
def opened(plain: Bench, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Be a machine with three devices; return the numbers of those that are opened."""
    numbers: list[int] = []

    def opening(_: Any, number: int) -> GpuEncoder:
        numbers.append(number)
        return GpuEncoder(plain.gpu({"number": number}))

    monkeypatch.setattr(device_module, "_open_device", opening)
    monkeypatch.setattr(device_module, "_find_device", lambda _: None)
    monkeypatch.setattr(device_module, "_count_devices", lambda: 3)
    monkeypatch.setattr(measure, "WORTH_OPENING", 0)
    return numbers


def run(plain: Bench, inputs: Any, output: Path, device: str, **options: Any) -> PackResult:
    task = prepare_task(inputs, tokenizer=plain.tokenizer, **{**COMMON, **options})
    return pack_task(task, output=output, device=device, workers=4)


@pytest.mark.parametrize("device", ["cuda:0,cuda:2", "cuda:all"])
def test_several_devices_write_the_bytes_of_the_cpu(
    device: str, plain: Bench, opened: list[int], dirty: Corpus, tmp_path: Path
) -> None:
    result = run(plain, dirty.paths, tmp_path / "there", device)
    run(plain, dirty.paths, tmp_path / "here", "cpu")
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
    assert opened == ([0, 2] if device == "cuda:0,cuda:2" else [0, 1, 2])
    assert result.device.name == ",".join(f"cuda:{number}" for number in opened)
    assert result.device.encoder.fallbacks.keys() <= {"no_sync"}  # type: ignore[union-attr]


def test_names_of_several_devices() -> None:
    def count() -> int:
        return 2

    assert device_numbers("cuda", count) == [0]
    assert device_numbers("cuda:1, cuda:0", count) == [1, 0]
    assert device_numbers("cuda:all", count) == [0, 1]
    assert device_numbers("auto", count) is None
    for wrong in ("cuda:0,cuda:0", "cuda,auto", "cuda:0,cpu", ""):
        with pytest.raises(OptionError):
            device_numbers(wrong, count)


def test_all_devices_of_a_machine_without_one(plain: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(DeviceError, match="cupy"):
        pack(tmp_path / "a.txt", output=tmp_path / "out", tokenizer=plain.tokenizer,
             device="cuda:all", context_length=8)  # fmt: skip


@pytest.mark.parametrize("seconds", [(1.0, 2.0), (2.0, 1.0)])
def test_auto_takes_the_faster_one_and_says_why(
    seconds: tuple[float, float],
    plain: Bench,
    opened: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measure, "_shortest", lambda *_, left=list(seconds): left.pop(0))
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of([f"document {i}" for i in range(300)]))
    result = run(plain, [path], tmp_path / "auto", "auto")
    run(plain, [path], tmp_path / "here", "cpu")
    assert digests(tmp_path / "auto") == digests(tmp_path / "here")
    assert opened == [0]
    assert result.device.name == ("cpu" if seconds[0] < seconds[1] else "cuda:0")
    times = "{:.1f} ms on the CPU, {:.1f} ms with cuda:0".format(*(1e3 * s for s in seconds))
    assert times in result.device.note


def test_auto_measures_the_first_block(plain: Bench, opened: list[int], tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of([f"document {i} " * 9 for i in range(300)]))
    result = run(plain, [path], tmp_path / "auto", "auto")  # the test device is the slower one
    assert result.device.name == "cpu"
    assert result.device.note.startswith("a block of 0.0 MB took a worker ")
    assert opened == [0]


def test_auto_opens_no_device_for_a_small_input(
    plain: Bench, opened: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "WORTH_OPENING", 1 << 20)
    (tmp_path / "a.txt").write_text("some text")
    result = run(plain, [tmp_path / "a.txt"], tmp_path / "out", "auto")
    assert (result.device.name, opened) == ("cpu", [])
    assert result.device.note == "0.0 MB of input, and a GPU is opened for 1 MB"


def test_a_bad_first_record_is_reported_by_the_run(
    plain: Bench, opened: list[int], tmp_path: Path
) -> None:
    del opened
    (tmp_path / "a.jsonl").write_bytes(b"{bad\n" + lines_of(["fine"]))
    with pytest.raises(ValueError, match=r"a\.jsonl:1"):
        run(plain, [tmp_path / "a.jsonl"], tmp_path / "out", "auto", on_bad={"bad_json": "fail"})


def test_times_are_those_of_a_worker() -> None:
    times = BlockTimes(8_400_000, 0.0213, 0.0029)
    assert times.prefers_device
    assert times.comparison("cuda:1") == (
        "a block of 8.4 MB took a worker 21.3 ms on the CPU, 2.9 ms with cuda:1"
    )


def test_blocks_that_the_cpu_reads_are_counted(
    plain: Bench, opened: list[int], tmp_path: Path
) -> None:
    del opened
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(["fine"]) + b'{"text": "' + b"\\\\" * 2500 + b'"}\n')
    result = run(plain, [path], tmp_path / "there", "cuda")
    assert "left 1 blocks of lines to the CPU's reader" in result.device.note
    run(plain, [path], tmp_path / "here", "cpu")
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
