"""Lists of texts of every kind, in many chunks, to the device and to the host."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from tests.cuda.devices import Stream
from tests.cuda.gpu_texts import device_of, on_device
from tests.cuda.tokenizers_small import random_texts

from tokenmill import EncodeError
from tokenmill.cuda import FlatTexts

if TYPE_CHECKING:
    from tests.cuda.conftest import Bench

    from tokenmill._cuda.device_tokenizer import DeviceTokenizer


class OwnStr(str):
    """A str of somebody else."""

    __slots__ = ()


class OwnBytes(bytes):
    """Bytes of somebody else."""


KINDS: dict[str, list[Any]] = {
    "ascii": ["hello world " * (i % 30) for i in range(200)],
    "latin-1": ["caf\xe9 \xfcber " * (i % 30) for i in range(200)],
    "two bytes": ["\u4f60\u597d hello \u0416" * (i % 30) for i in range(200)],
    "four bytes": ["\U0001f600 hello \u4f60 \xe9" * (i % 30) for i in range(200)],
    "bytes": [text.encode() for text in random_texts(200, seed=8)],
    "views": [memoryview(text.encode()) for text in random_texts(100, seed=9)],
    "writable": [bytearray(text.encode()) for text in random_texts(100, seed=10)],
    "subclasses": [OwnStr("hello \xe9"), OwnBytes(b"world"), OwnStr("hello")] * 40,
    "all together": [
        kind(text)
        for text in random_texts(60, seed=11)
        for kind in (str, str.encode, OwnStr, lambda t: bytearray(t.encode()))
    ],
    "empty ones": ["", b"", "hello", "", b"", bytearray(), "\xe9", ""] * 20,
    "only empty ones": ["", b""] * 50,
    "none": [],
    "one": ["hello"],
    "one empty": [b""],
}
BROKEN = ["hello", "a\ud800b", "\udfff" * 40, "\u4f60\ud912\U0001f600", b"hello", "\xe9" * 9] * 30


@pytest.fixture(scope="module", params=[700, 1 << 20], ids=["ring", "short way"])
def doors(plain: Bench, request: pytest.FixtureRequest) -> DeviceTokenizer:
    return plain.gpu(batch_bytes=request.param)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", ["device", "host"])
@pytest.mark.parametrize("special", [False, True])
def test_texts_of_every_kind_have_the_ids_of_the_cpu(
    plain: Bench, doors: DeviceTokenizer, kind: str, output: Any, special: bool
) -> None:
    texts = KINDS[kind]
    found = doors.encode_batch(texts, output=output, add_special_tokens=special)
    assert found.to_host() == plain.tokenizer.encode_batch(texts, add_special_tokens=special)


@pytest.mark.parametrize("output", ["device", "host"])
def test_lone_surrogates_are_replaced_or_refused(
    plain: Bench, doors: DeviceTokenizer, output: Any
) -> None:
    found = doors.encode_batch(BROKEN, output=output, errors="replace")
    assert found.to_host() == plain.tokenizer.encode_batch(BROKEN, errors="replace")
    assert not found.fallbacks
    for texts in (BROKEN, ["hello"] * 500 + BROKEN, ["ok", *BROKEN[2:]], [b"\xff", *BROKEN]):
        with pytest.raises(EncodeError) as wanted:
            plain.tokenizer.encode_batch(texts)
        with pytest.raises(EncodeError) as refused:
            doors.encode_batch(texts, output=output)
        assert vars(refused.value) == vars(wanted.value)
        assert str(refused.value) == str(wanted.value)


@pytest.mark.parametrize("output", ["device", "host"])
@pytest.mark.parametrize("special", [False, True])
def test_documents_of_the_cpu_in_every_chunk(
    plain: Bench, doors: DeviceTokenizer, output: Any, special: bool
) -> None:
    texts = [b"hello \xff world", "hello " * 30, "a <s> b", "\xe9 hello"] * 60
    how: dict[str, Any] = {"errors": "replace", "add_special_tokens": special}
    found = doors.encode_batch(texts, output=output, **how)
    assert found.to_host() == plain.tokenizer.encode_batch(texts, **how)
    assert found.fallbacks == {"invalid_utf8": 60}


@pytest.mark.parametrize("output", ["device", "host"])
@pytest.mark.parametrize("special", [False, True])
def test_documents_too_long_for_the_device_between_others(
    plain: Bench, output: Any, special: bool
) -> None:
    gpu = plain.gpu(batch_bytes=200)
    gpu.encoder.longest, gpu.encoder.ring = 500, None
    texts = ["hello \xe9 " * 100, "hello", "", "hello world " * 60, "ab " * 100] * 5
    found = gpu.encode_batch(texts, output=output, add_special_tokens=special)
    assert found.fallbacks == {"long_document": 10}
    assert found.to_host() == plain.tokenizer.encode_batch(texts, add_special_tokens=special)


def test_text_on_the_device_can_become_ids_on_the_host(
    plain: Bench, doors: DeviceTokenizer
) -> None:
    texts = [*random_texts(80, seed=4), "a <s> b", "hello " * 300]
    for special in (False, True):
        found = doors.encode_batch(
            on_device(doors, texts), output="host", add_special_tokens=special
        )
        assert found.to_host() == plain.tokenizer.encode_batch(texts, add_special_tokens=special)


def test_documents_far_apart_on_the_device_go_to_the_cpu(plain: Bench) -> None:
    gpu = plain.gpu()
    far = "hello " * 60_000
    long = "y" * 9000  # more than a word on the device has
    texts = [long, f"c {long}", far, f"d {long} e", far, far, long]
    found = gpu.encode_batch(on_device(gpu, texts))
    assert found.to_host() == plain.tokenizer.encode_batch(texts)
    assert found.fallbacks == {"long_word": 4}


def test_arrow_arrays_without_nulls_keep_their_memory(doors: DeviceTokenizer) -> None:
    array = pa.array(["hello", "world"])
    (part,) = doors.parts(array)
    assert part.texts is None
    assert part.data.ctypes.data == array.buffers()[2].address


def test_a_result_outlives_the_texts(plain: Bench, doors: DeviceTokenizer) -> None:
    texts = [f"hello {i}" for i in range(300)]
    wanted = plain.tokenizer.encode_batch(texts)
    found = [doors.encode_batch(texts, output=output) for output in ("device", "host")]
    texts.clear()
    doors.encode_batch(KINDS["two bytes"], output="host")
    assert [batch.to_host() for batch in found] == [wanted, wanted]


def test_threads_and_streams_share_the_doors(plain: Bench, doors: DeviceTokenizer) -> None:
    def encode(seed: int) -> Any:
        texts = random_texts(80, seed)
        output: Any = ("device", "host")[seed % 2]
        stream = Stream() if seed % 3 == 0 else None
        return doors.encode_batch(texts, output=output, stream=stream).to_host()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(encode, range(12)))
    assert found == [plain.tokenizer.encode_batch(random_texts(80, seed)) for seed in range(12)]


@pytest.mark.parametrize("between", [[], ["hello " * 4000]], ids=["no text", "a long text"])
def test_a_call_that_waits_for_nothing_is_no_gap_between_streams(
    plain: Bench, between: list[str]
) -> None:
    gpu = plain.gpu(batch_bytes=1 << 12, max_memory=None)
    gpu.encoder.longest = 1 << 12
    texts = [["hello world"] * 40, ["one two three"] * 40]
    uploaded = [on_device(gpu, some) for some in texts]
    gpu.backend.mark().synchronize()
    found = []
    for given in uploaded:
        with gpu.backend.using(Stream()):
            found.append(gpu.encode_batch(given))  # its ids are copied when somebody waits
        gpu.encode_batch(between, output="host")
    found[1].to_host()
    assert [batch.to_host() for batch in found] == [
        plain.tokenizer.encode_batch(some) for some in texts
    ]


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 40_000, 70_000, 300_000])
def test_one_text_of_any_size(plain: Bench, dtype: Any, special: bool, size: int) -> None:
    """Also more ids than a byte has on average, and more than are copied."""
    gpu = plain.gpu()
    how: dict[str, Any] = {"dtype": dtype, "add_special_tokens": special}
    for text in ("hello world "[size % 12 :] * (size // 12 + 1), "qx" * size):
        for _ in range(2):
            one = [text[:size]]
            found = gpu.encode_batch(one, output="host", **how)
            assert found.to_host() == plain.tokenizer.encode_batch(one, **how)


def test_results_of_the_short_way_are_not_written_again(plain: Bench) -> None:
    gpu = plain.gpu()
    texts = [["hello world " * n] for n in (9, 2000, 10_000, 9, 2000, 10_000, 12_000)]
    found = [gpu.encode_batch(each, output="host") for each in texts]
    for each, batch in zip(texts, found, strict=True):
        assert batch.to_host() == plain.tokenizer.encode_batch(each)


def test_requests_that_wait_go_up_together(plain: Bench) -> None:
    """All of them wait for a lock that the test holds, so the first takes the others along."""
    gpu = plain.gpu()
    device = device_of(gpu)
    texts: list[list[Any]] = [["hello " * seed, "w\xf6rld", ""] for seed in range(8)]
    texts[3], texts[5] = ["hello world"] * 5000, [b"hello"]
    options: list[dict[str, Any]] = [{} for _ in texts]
    options[6] = {"special_in_text": "text"}
    gpu.encode_batch(["hello"], output="host")
    gpu.encode_batch(["hello"], output="host")
    before = device.graphs_launched
    with ThreadPoolExecutor(len(texts)) as pool:
        with gpu._turn:
            jobs = [
                pool.submit(gpu.encode_batch, each, output="host", **how)
                for each, how in zip(texts, options, strict=True)
            ]
            while len(gpu._requests._waiting) < len(texts) - 1:  # 5000 documents go another way
                time.sleep(0.001)
        found = [job.result().to_host() for job in jobs]
    for each, how, batch in zip(texts, options, found, strict=True):
        assert batch == plain.tokenizer.encode_batch(each, **how)
    assert device.graphs_launched - before == 2  # most, and the one with another option


def test_an_error_among_requests_is_for_its_caller_alone(plain: Bench) -> None:
    gpu = plain.gpu()
    texts: list[list[Any]] = [["hello"], ["a", b"\xff"], ["world"], ["\ud800"], ["a <s> b"]]
    with ThreadPoolExecutor(len(texts)) as pool:
        with gpu._turn:
            jobs = [pool.submit(gpu.encode_batch, each, output="host") for each in texts]
            while len(gpu._requests._waiting) < len(texts):
                time.sleep(0.001)
        for each, job in zip(texts, jobs, strict=True):
            refused = job.exception()
            if refused is None:
                assert job.result().to_host() == plain.tokenizer.encode_batch(each)
                continue
            with pytest.raises(EncodeError) as wanted:
                plain.tokenizer.encode_batch(each)
            assert str(refused) == str(wanted.value)
            assert vars(refused) == vars(wanted.value)
        assert [job.exception() is None for job in jobs] == [True, False, True, False, True]


def test_an_error_in_one_chunk_leaves_the_ring_usable(plain: Bench, doors: DeviceTokenizer) -> None:
    texts: list[Any] = ["hello world"] * 400
    texts[250] = b"\xff"
    for output in ("device", "host"):
        with pytest.raises(EncodeError) as refused:
            doors.encode_batch(texts, output=output)
        assert refused.value.document == 250
        found = doors.encode_batch(KINDS["bytes"], output=output)
        assert found.to_host() == plain.tokenizer.encode_batch(KINDS["bytes"])


def test_offsets_of_flat_texts_may_begin_anywhere(plain: Bench, doors: DeviceTokenizer) -> None:
    data = np.frombuffer(b"##hello world a <s> b hello##", np.uint8)
    offsets = [2, 7, 8, 8, 21, 27]
    texts = [data[a:b].tobytes() for a, b in pairwise(offsets)]
    for output in ("device", "host"):
        found = doors.encode_batch(FlatTexts(data, offsets), output=output)
        assert found.to_host() == plain.tokenizer.encode_batch(texts)


def test_results_in_pinned_memory_are_used_again_only_after_their_end(plain: Bench) -> None:
    gpu = plain.gpu(batch_bytes=3000)
    texts = [f"hello world {i} " * 20 for i in range(200)]
    other = [f"{i} world hello " * 20 for i in range(200)]
    wanted = plain.tokenizer.encode_batch(texts)
    first = gpu.encode_batch(texts, output="host")
    row, place = first.to_host()[3], first.ids.ctypes.data
    assert gpu.backend.is_pinned(first.ids)
    second = gpu.encode_batch(other, output="host")
    assert second.ids.ctypes.data != place
    del first
    third = gpu.encode_batch(other, output="host")
    assert third.ids.ctypes.data != place  # a row of the first one is still in use
    assert row.tolist() == wanted[3].tolist()
    del row
    assert gpu.encode_batch(texts, output="host").ids.ctypes.data == place


def test_more_ids_than_the_first_chunk_made_likely(plain: Bench) -> None:
    gpu = plain.gpu(batch_bytes=5000)
    texts = ["hello world " * 400] + ["qxz" * 800] * 60
    for _ in range(2):
        found = gpu.encode_batch(texts, output="host")
        assert found.to_host() == plain.tokenizer.encode_batch(texts)
