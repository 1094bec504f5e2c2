"""Streams, threads, graphs, several devices and memory of a device."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from tests.cuda.devices import Stream
from tests.cuda.gpu_texts import TEXTS, device_of, on_device, slots_of
from tests.cuda.tokenizers_small import random_texts

from tokenmill import (
    InvalidUtf8,
)
from tokenmill._cuda.ring import SLOTS
from tokenmill._cuda.texts import TextPart, slice_of
from tokenmill._errors import DeviceError

if TYPE_CHECKING:
    from tests.cuda.conftest import Bench


def test_launches_of_small_batches_are_captured_once_a_class(plain: Bench) -> None:
    gpu = plain.gpu()
    device = device_of(gpu)
    before = device.graphs_launched
    for texts in (TEXTS, TEXTS[:7], ["hello"]):
        gpu.encode_batch(texts)
    assert device.graphs_launched == before + 3
    (slot,) = slots_of(gpu)
    assert list(slot.graphs) == [(1 << 14, True, True)]
    gpu.encode_batch([""] * 5000 + ["hello"])  # more documents than those launches are for
    assert device.graphs_launched == before + 3


def test_text_on_the_device_is_not_copied_where_it_has_room(plain: Bench) -> None:
    gpu = plain.gpu()
    texts = ["hello world"]
    roomy = on_device(gpu, texts, 512)
    gpu.encode_batch(roomy)
    assert gpu.encoder.slot is not None
    assert gpu.encoder.slot.here.ctypes.data == roomy.data.ctypes.data
    gpu.encode_batch(on_device(gpu, texts))
    assert gpu.encoder.slot.here is gpu.encoder.slot.text


def test_results_are_ready_for_the_stream_that_was_current(plain: Bench) -> None:
    gpu = plain.gpu()
    backend = device_of(gpu)
    wanted = plain.tokenizer.encode_batch(TEXTS)
    streams = [Stream(), Stream()]
    for stream in [*streams, *streams]:
        assert gpu.encode_batch(TEXTS, stream=stream).to_host() == wanted
        with backend.using(stream):
            assert gpu.encode_batch(TEXTS).to_host() == wanted
            batch = gpu.encode_batch(TEXTS[:9])
        assert batch.to_host() == wanted[:9]


def test_calls_on_different_streams_do_not_overwrite_each_other(plain: Bench) -> None:
    gpu = plain.gpu()
    texts = [["hello " * 9], ["world " * 7], ["hello world"], TEXTS]
    found = [gpu.encode_batch(each, stream=Stream()) for each in texts]
    for each, batch in zip(texts, found, strict=True):
        assert batch.to_host() == plain.tokenizer.encode_batch(each)


def test_threads_may_share_it(plain: Bench) -> None:
    gpu = plain.gpu()
    seeds = list(range(12))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda s: gpu.encode_batch(random_texts(20, s)).to_host(), seeds))
    assert found == [plain.tokenizer.encode_batch(random_texts(20, seed)) for seed in seeds]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_devices_give_the_documents_in_order(plain: Bench, count: int) -> None:
    gpus = plain.several(count)
    for texts in (TEXTS, ["hello"], [], ["", ""], ["\ud800", *TEXTS]):
        found = gpus.encode_batch(texts, errors="replace")
        assert len(found.shards) == count
        assert len(found) == len(texts)
        assert found.to_host() == plain.tokenizer.encode_batch(texts, errors="replace")
    chunks = pa.chunked_array([TEXTS[:9], TEXTS[9:]])
    assert gpus.encode_batch(chunks).to_host() == plain.tokenizer.encode_batch(TEXTS)


def test_an_error_of_several_devices_names_the_first_bad_document(plain: Bench) -> None:
    texts = [*TEXTS, b"\xff", *TEXTS, b"\xfe"]
    with pytest.raises(InvalidUtf8) as wanted:
        plain.tokenizer.encode_batch(texts)
    with pytest.raises(InvalidUtf8) as found:
        plain.several(3).encode_batch(texts)
    assert str(found.value) == str(wanted.value)


def test_shares_are_of_about_the_same_size(plain: Bench) -> None:
    shares = plain.several(3).encode_batch(["hello world"] * 300).shards
    assert [len(share) for share in shares] == [100, 100, 100]


def test_a_slice_of_a_part_keeps_its_texts() -> None:
    part = TextPart(4, np.frombuffer(b"abcdef", np.uint8), np.array([0, 1, 3, 6]))
    piece = slice_of(part, 1, 3, 0)
    assert (len(piece), piece.skipped, piece.shift) == (2, 5, 1)


@pytest.mark.parametrize("output", ["device", "host"])
def test_after_a_batch_too_large_for_the_memory_smaller_ones_work(
    plain: Bench, output: Any
) -> None:
    gpu = plain.gpu()
    device = device_of(gpu)
    wanted = plain.tokenizer.encode_batch(TEXTS)
    assert gpu.encode_batch(TEXTS, output=output).to_host() == wanted
    room, device.memory = device.memory, 30 << 20  # enough for some of the buffers, not for all
    with pytest.raises(DeviceError, match="no room") as caught:
        gpu.encode_batch(["hello world " * 200_000], output=output)
    assert caught.value.reason == "out_of_memory"
    device.memory = room
    for _ in range(2):
        assert gpu.encode_batch(TEXTS, output=output).to_host() == wanted
        assert gpu.encode_batch(TEXTS).to_host() == wanted


def test_all_slots_together_stay_within_the_memory(plain: Bench) -> None:
    most = plain.gpu().encoder.engine.memory_for(1 << 20, 1 + SLOTS)
    gpu = plain.gpu(max_memory=most)
    texts = ["hello world " * 80_000] * (SLOTS + 1)
    one = on_device(gpu, texts[:1])
    assert gpu.encode_batch(one).to_host() == plain.tokenizer.encode_batch(texts[:1])
    found = gpu.encode_batch(texts, output="host")
    assert not found.fallbacks
    assert found.to_host() == plain.tokenizer.encode_batch(texts)
    slots = slots_of(gpu)
    assert len(slots) == 1 + SLOTS
    held = sum(array.nbytes for array in gpu.encoder.engine._work.values())
    held += sum(slot.text.nbytes + slot.ids.nbytes for slot in slots)
    assert 0.9 * most < held <= most
