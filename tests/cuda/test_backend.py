"""CupyBackend: everything the engine asks of it, by the calls that CuPy has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.cuda import fake_cupy
from tests.cuda.gpu_texts import TEXTS, flat

from tokenmill import DeviceError, TokenBatch
from tokenmill._cuda import choose
from tokenmill._cuda.cupy_backend import memory_errors
from tokenmill.cuda import FlatTexts, GpuTokenizer

if TYPE_CHECKING:
    from tests.cuda.conftest import Bench


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, plain: Bench) -> GpuTokenizer:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.make(plain.folder))
    choose._OPENED.clear()
    return GpuTokenizer(plain.tokenizer, table_bits=12, batch_bytes=3000)


def test_texts_become_ids_by_the_calls_of_cupy(plain: Bench, gpu: GpuTokenizer) -> None:
    assert gpu.device == "cuda:0"
    for extra in (False, True, False):
        wanted = plain.tokenizer.encode_batch(TEXTS, add_special_tokens=extra)
        stream = fake_cupy.Stream()
        batch = gpu.encode_batch(TEXTS, add_special_tokens=extra, stream=stream)
        assert batch.to_host() == wanted
        assert batch.device == "cuda:0"


def test_memory_of_host_and_device(plain: Bench, gpu: GpuTokenizer) -> None:
    data, offsets = flat(TEXTS)
    wanted = plain.tokenizer.encode_batch(TEXTS)
    pinned = gpu.pinned(data.size)
    pinned[:] = data
    assert gpu.backend.is_pinned(pinned)
    assert not gpu.backend.is_pinned(data)
    out = gpu.pinned(data.size, np.uint32)
    assert TokenBatch(*gpu.encode_host(pinned, offsets, out=out)) == wanted
    assert TokenBatch(*gpu.encode_host(data, offsets)) == wanted
    memory = gpu.backend.asarray(np.pad(data, 512))
    for text in (memory[512:-512], gpu.backend.asarray(data)):
        assert gpu.encode_batch(FlatTexts(text, offsets)).to_host() == wanted


def test_encode_batch_of_a_tokenizer_uses_the_device(plain: Bench, gpu: GpuTokenizer) -> None:
    del gpu  # brings the module
    found = plain.tokenizer.encode_batch(TEXTS, device="cuda", add_special_tokens=True)
    assert found == plain.tokenizer.encode_batch(TEXTS, add_special_tokens=True)
    assert (found.device, found.reason) == ("cuda:0", None)
    choose._OPENED.clear()


@pytest.mark.parametrize("error", [MemoryError("full"), fake_cupy.CudaError(2)])
def test_lack_of_memory_is_a_reason(error: Exception) -> None:
    with pytest.raises(DeviceError, match="too little free memory") as caught, memory_errors():
        raise error
    assert caught.value.reason == "out_of_memory"
    with pytest.raises(fake_cupy.CudaError), memory_errors():
        raise fake_cupy.CudaError(700)


def test_handles_are_those_of_the_driver(gpu: GpuTokenizer) -> None:
    backend = gpu.backend
    event = backend.new_event()
    assert event.block  # a thread that waits for it sleeps
    graph = backend.capture(lambda: None)
    assert [backend.handle(thing) for thing in (fake_cupy.Stream(), graph, event)] == [77, 78, 79]
