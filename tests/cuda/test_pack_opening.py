"""A device that is opened while a run is under way: the CPU begins, and not one byte differs."""

from __future__ import annotations

import os
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from tests.cuda.fake_encoder import CpuEncoder
from tests.mill.corpus import LONGEST, Corpus, dirty_corpus
from tests.mill.outputs import digests
from tests.mill.tuned import shrink

from tokenmill import DeviceError, Tokenizer, pack
from tokenmill._cuda.reasons import device_error
from tokenmill._mill.device import choose as device_module
from tokenmill._mill.device import opening as opening_module
from tokenmill._mill.device.opening import OpeningDevice
from tokenmill._mill.pack import pack_task
from tokenmill._mill.plan.task import prepare_task

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS: dict[str, Any] = {
    "context_length": 64,
    "shard_tokens": 4000,
    "max_document_bytes": LONGEST,
}
BEFORE = 5  # blocks
HANGS = 600  # seconds after which a thread must be stuck


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


@pytest.fixture
def tokenizer(small_json: Path, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    """A tokenizer on a machine with a device, for which any input is large."""
    shrink(monkeypatch.setattr)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(device_module, "OPENED_BEHIND", 1)
    monkeypatch.setattr(device_module, "_find_device", lambda _: None)
    return Tokenizer.load(small_json)


@pytest.mark.parametrize("workers", [1, 4])
def test_the_cpu_encodes_until_the_device_is_open(
    workers: int,
    tokenizer: Tokenizer,
    dirty: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = CpuEncoder(tokenizer, None)  # type: ignore[arg-type]
    may_open = threading.Event()

    def open_late(*_: Any) -> CpuEncoder:
        assert may_open.wait(HANGS)
        return encoder

    asked = OpeningDevice.takes_block

    def asked_late(self: OpeningDevice) -> bool:
        if self.blocks_before >= BEFORE:
            may_open.set()
            self._prepared.result(HANGS)
        return asked(self)

    monkeypatch.setattr(device_module, "_open_device", open_late)
    monkeypatch.setattr(OpeningDevice, "takes_block", asked_late)
    task = prepare_task(dirty.paths, tokenizer=tokenizer, **OPTIONS)
    done = pack_task(task, output=tmp_path / "cuda", workers=workers, device="cuda")
    pack(dirty.paths, output=tmp_path / "cpu", tokenizer=tokenizer, **OPTIONS)
    assert digests(tmp_path / "cuda") == digests(tmp_path / "cpu")
    assert encoder.batches
    assert done.device.encoder is not None
    before = done.device.encoder.blocks_before
    assert BEFORE <= before < BEFORE + workers
    assert done.device.note.startswith(f"the CPU encoded {before} blocks while it was opened")


def test_a_device_that_does_not_open_ends_the_run_with_the_reason(
    tokenizer: Tokenizer, dirty: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise device_error("selftest_failed")

    def wait(self: OpeningDevice) -> bool:
        self._prepared.exception(HANGS)
        return True

    monkeypatch.setattr(device_module, "_open_device", fail)
    monkeypatch.setattr(OpeningDevice, "takes_block", wait)
    with pytest.raises(DeviceError) as raised:
        pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, device="cuda", **OPTIONS)
    assert raised.value.reason == "selftest_failed"


def test_an_input_that_is_done_before_the_device_is_open(
    tokenizer: Tokenizer, dirty: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(device_module, "_open_device", lambda *_: is_over.wait(HANGS))
    task = prepare_task(dirty.paths, tokenizer=tokenizer, **OPTIONS)
    try:
        done = pack_task(task, output=tmp_path, device="cuda")
        assert done.device.note == "the CPU encoded everything before it was open"
    finally:
        is_over.set()


def test_without_the_package_nothing_is_written(
    tokenizer: Tokenizer, dirty: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int) -> None:
        raise device_error("no_device", f"got number {number}")

    monkeypatch.setattr(device_module, "find_spec", lambda _: None)
    monkeypatch.setattr(device_module, "_find_device", refuse)
    with pytest.raises(DeviceError, match="number 3"):
        pack(dirty.paths, output=tmp_path / "a", tokenizer=tokenizer, device="cuda:3", **OPTIONS)
    assert not (tmp_path / "a").exists()


def test_some_workers_wait_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of them encode on the CPU; the others wait until it is open, or for so long."""
    monkeypatch.setattr(opening_module, "PATIENCE", HANGS)
    may_open = threading.Event()
    answers: queue.Queue[bool] = queue.Queue()
    device = Mock()
    device.has_free_lane = True

    def open_late() -> Any:
        assert may_open.wait(HANGS)
        return device

    opening = OpeningDevice(open_late, lambda _: None, workers=4)
    together = threading.Barrier(4)  # all are there: the name of a thread that ended is used again

    def ask() -> None:
        together.wait(HANGS)
        answers.put(opening.takes_block())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert [answers.get(timeout=HANGS) for _ in range(2)] == [False, False]
    assert opening.blocks_before == 2
    may_open.set()
    assert [answers.get(timeout=HANGS) for _ in range(2)] == [True, True]
    for thread in threads:
        thread.join(HANGS)
    assert opening.takes_block()


def test_nobody_waits_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening_module, "PATIENCE", 0.0)
    is_over = threading.Event()
    opening = OpeningDevice(lambda: is_over.wait(HANGS), lambda _: None, workers=4)  # type: ignore[arg-type,return-value]
    with ThreadPoolExecutor(4) as pool:
        together = threading.Barrier(4)

        def ask(_: int) -> bool:
            together.wait(HANGS)
            return opening.takes_block()

        assert list(pool.map(ask, range(4))) == [False] * 4
    is_over.set()
