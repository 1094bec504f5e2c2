"""From host memory to host memory, round a ring of slots whose copies wait until wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from tests.cuda.gpu_texts import device_of, flat
from tests.cuda.tokenizers_small import random_texts

from tokenmill import DtypeError, InvalidUtf8, OutputTooSmall, TokenBatch
from tokenmill._cuda.chunks import chunks_of
from tokenmill._cuda.texts import TextPart

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tests.cuda.conftest import Bench

    from tokenmill._core import CopyCrew
    from tokenmill._cuda.device_tokenizer import DeviceTokenizer

TEXTS = random_texts(300, seed=3)
CLEAN = ["hello world " * (i % 40) for i in range(300)]


@pytest.fixture(scope="module")
def ring(plain: Bench) -> DeviceTokenizer:
    return plain.gpu(batch_bytes=2000)


def pinned_copy(gpu: DeviceTokenizer, data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    memory = gpu.pinned(data.size)
    memory[:] = data
    return memory


@pytest.mark.parametrize("texts", [TEXTS, CLEAN, [], [""], ["hello"]], ids=len)
@pytest.mark.parametrize("is_pinned", [False, True])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_ids_and_offsets_are_those_of_the_cpu(
    plain: Bench,
    ring: DeviceTokenizer,
    texts: list[str],
    is_pinned: bool,
    dtype: Any,
) -> None:
    data, offsets = flat(texts)
    given = pinned_copy(ring, data) if is_pinned else data
    wanted = plain.tokenizer.encode_batch(texts, dtype=dtype)
    for _ in range(2):
        ids, starts = ring.encode_host(given, offsets, dtype=dtype)
        assert ids.dtype == dtype
        assert TokenBatch(ids, starts) == wanted


@pytest.mark.parametrize("texts", [TEXTS, CLEAN], ids=["some for the CPU", "all for the device"])
@pytest.mark.parametrize("is_pinned", [False, True])
def test_memory_of_the_caller_takes_the_ids(
    plain: Bench, ring: DeviceTokenizer, texts: list[str], is_pinned: bool
) -> None:
    data, offsets = flat(texts)
    wanted = plain.tokenizer.encode_batch(texts)
    size = len(wanted.ids)
    out = ring.pinned(size + 5, np.uint32) if is_pinned else np.empty(size + 5, np.uint32)
    out[:] = 7
    ids, starts = ring.encode_host(data, offsets, out=out)
    assert np.shares_memory(ids, out)
    assert TokenBatch(ids, starts) == wanted
    assert out[size:].tolist() == [7] * 5


def test_memory_that_is_too_small_is_refused_and_the_ring_goes_on(
    plain: Bench, ring: DeviceTokenizer
) -> None:
    data, offsets = flat(CLEAN)
    wanted = plain.tokenizer.encode_batch(CLEAN)
    with pytest.raises(OutputTooSmall, match="out: expected room for all ids, got"):
        ring.encode_host(data, offsets, out=np.empty(len(wanted.ids) - 1, np.uint32))
    assert TokenBatch(*ring.encode_host(data, offsets)) == wanted
    with pytest.raises(DtypeError, match="out: expected a row of uint32"):
        ring.encode_host(data, offsets, out=np.empty(10, np.uint16))


def test_an_error_in_the_middle_is_that_of_the_cpu_and_the_ring_goes_on(
    plain: Bench, ring: DeviceTokenizer
) -> None:
    texts = [text.encode() for text in CLEAN]
    texts[150] = b"hello \xff"
    texts[200] = b"\xfe"
    data = np.frombuffer(b"".join(texts), np.uint8)
    offsets = np.cumsum([0, *map(len, texts)])
    with pytest.raises(InvalidUtf8) as wanted:
        plain.tokenizer.encode_batch(texts)
    with pytest.raises(InvalidUtf8) as found:
        ring.encode_host(data, offsets)
    assert str(found.value) == str(wanted.value)
    repaired = TokenBatch(*ring.encode_host(data, offsets, errors="replace"))
    assert repaired == plain.tokenizer.encode_batch(texts, errors="replace")


def test_repaired_text_may_have_more_ids_than_bytes(plain: Bench, ring: DeviceTokenizer) -> None:
    texts = [b"\xff" * 50, b"hello", b"\xfe" * 50]
    data, offsets = np.frombuffer(b"".join(texts), np.uint8), np.array([0, 50, 55, 105])
    found = TokenBatch(*ring.encode_host(data, offsets, errors="replace"))
    assert found == plain.tokenizer.encode_batch(texts, errors="replace")
    assert len(found.ids) > data.size


def test_a_document_longer_than_a_chunk_gets_room(plain: Bench) -> None:
    gpu = plain.gpu(batch_bytes=1000)
    texts = [*CLEAN[:30], "hello world " * 100_000, *CLEAN[:30]]
    assert TokenBatch(*gpu.encode_host(*flat(texts))) == plain.tokenizer.encode_batch(texts)


def test_pinned_text_is_not_copied_on_the_host(ring: DeviceTokenizer) -> None:
    data, offsets = flat(CLEAN)
    encoder = ring.encoder
    crew, counted = encoder.crew, CountingCrew(encoder.crew)
    vars(encoder)["crew"] = counted
    encoder.ring = None
    try:
        out = ring.pinned(data.size, np.uint32)
        ring.encode_host(pinned_copy(ring, data), offsets, out=out)
        assert counted.copied == 0
        ring.encode_host(data, offsets, out=out)
        assert counted.copied == data.size
    finally:
        vars(encoder)["crew"] = crew
        encoder.ring = None


class CountingCrew:
    """Counts the bytes that a crew copies."""

    def __init__(self, crew: CopyCrew) -> None:
        self.finish_copies = crew.finish_copies
        self._crew = crew
        self.copied = 0

    def start_copy(self, target: NDArray[Any], source: NDArray[Any]) -> None:
        self.copied += source.nbytes
        self._crew.start_copy(target, source)


def test_copies_in_run_ahead_of_the_work(ring: DeviceTokenizer) -> None:
    """A chunk is sent in before the one before it has been waited for."""
    order: list[str] = []
    ring.encode_host(*flat(CLEAN))
    own = ring.encoder.ring
    assert own is not None
    start, collect = own._start, own._collect
    own._start = lambda *a, **k: (order.append("in"), start(*a, **k))[1]  # type: ignore[method-assign, func-returns-value]
    own._collect = lambda *a: (order.append("out"), collect(*a))[1]  # type: ignore[method-assign, func-returns-value]
    try:
        ring.encode_host(*flat(CLEAN))
    finally:
        own._start, own._collect = start, collect  # type: ignore[method-assign]
    assert order[:5] == ["in", "in", "out", "in", "out"]
    assert order[-2:] == ["out", "out"]


def test_device_of_tests_does_nothing_before_it_is_wanted(ring: DeviceTokenizer) -> None:
    """Without this the tests above could not fail for a wait that is missing."""
    device = device_of(ring)
    target, array = device.pinned(4, np.uint32), device.zeros(4, np.uint32)
    device.upload(array, np.array([1, 2, 3, 4], np.uint32))
    device.download(target, array)
    assert target.tolist() == [0xEE] * 4
    cast("Any", device.mark()).synchronize()
    assert target.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("most", [1, 100, 5000, 1 << 30])
def test_chunks_hold_all_documents_in_order(most: int) -> None:
    sizes = np.random.default_rng(most).integers(0, 300, 500)
    texts = ["x" * size for size in sizes]
    parts = [TextPart(0, *flat(texts[:300])), TextPart(300, *flat(texts[300:]))]
    chunks = chunks_of(parts, most)
    places = [place for chunk in chunks for place in range(*chunk.places.indices(501))[:-1]]
    assert places == list(range(500))
    assert all(chunk.size <= max(most, 300) for chunk in chunks)
    assert chunks_of([TextPart(0, *flat([]))], most) == []
    assert len(chunks_of([TextPart(0, *flat(["", ""]))], 100)) == 1


def test_the_first_and_the_last_chunks_are_smaller() -> None:
    part = TextPart(0, np.zeros(100 << 20, np.uint8), np.arange(0, (100 << 20) + 1, 1 << 12))
    sizes = [chunk.size / (1 << 20) for chunk in chunks_of([part], 8 << 20)]
    assert sizes[:4] == [2, 4, 8, 8]
    assert 8 > sizes[-3] > sizes[-2] > sizes[-1]
    assert sum(sizes) == 100
