"""GpuTokenizer against the CPU engine, through the kernels as a host library."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pytest
from tests.conftest import alphabet, small_definition
from tests.cuda.conftest import Bench
from tests.cuda.devices import HostDevice, Stream
from tests.cuda.shim import build
from tests.cuda.tokenizers_small import random_texts, write

from tokenmill import DtypeError, EncodeError, InvalidUtf8, OptionError, TokenBatch, Tokenizer
from tokenmill._cuda.engine import Job
from tokenmill._cuda.ring import SLOTS
from tokenmill._cuda.texts import Part, slice_of
from tokenmill._errors import DeviceError
from tokenmill.cuda import FlatTexts, GpuTokenBatch, GpuTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

TEXTS = random_texts(60)
MISS_COUNT, BIN_COUNT, ID_COUNT = 0, 2, 12  # Counter in batch.h


def flat(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    parts = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def device_of(gpu: GpuTokenizer) -> HostDevice:
    return cast("HostDevice", gpu.backend)


def on_device(gpu: GpuTokenizer, texts: list[str], room: int = 0) -> FlatTexts:
    data, offsets = flat(texts)
    memory = gpu.backend.zeros(data.size + 2 * room, np.uint8)
    gpu.backend.upload(memory[room : room + data.size], data)
    return FlatTexts(memory[room : room + data.size], offsets)


def pinned(gpu: GpuTokenizer, texts: list[str]) -> FlatTexts:
    data, offsets = flat(texts)
    memory = gpu.pinned(data.size)
    memory[:] = data
    return FlatTexts(memory, offsets)


FORMS: dict[str, Callable[[GpuTokenizer], Any]] = {
    "list": lambda _: TEXTS,
    "tuple of bytes": lambda _: tuple(text.encode() for text in TEXTS),
    "views": lambda _: [memoryview(text.encode()) for text in TEXTS],
    "generator": lambda _: (text for text in TEXTS),
    "arrow": lambda _: pa.array(TEXTS),
    "arrow large": lambda _: pa.array(TEXTS, pa.large_string()),
    "arrow binary": lambda _: pa.array([text.encode() for text in TEXTS]),
    "arrow view": lambda _: pa.array(TEXTS, pa.string_view()),
    "arrow slice": lambda _: pa.array(["before", *TEXTS, "behind"])[1:-1],
    "arrow chunks": lambda _: pa.chunked_array([TEXTS[:9], [], TEXTS[9:]], pa.string()),
    "flat": lambda _: FlatTexts(*flat(TEXTS)),
    "flat bytes": lambda _: FlatTexts(flat(TEXTS)[0].tobytes(), flat(TEXTS)[1].tolist()),
    "flat inside": lambda _: FlatTexts(flat(["##", *TEXTS, "#"])[0], flat(["##", *TEXTS])[1][1:]),
    "pinned": lambda gpu: pinned(gpu, TEXTS),
    "device": lambda gpu: on_device(gpu, TEXTS),
    "device, roomy": lambda gpu: on_device(gpu, TEXTS, 512),
}


@pytest.mark.parametrize("output", ["device", "host"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_texts_gives_the_ids_of_the_cpu(
    bench: Bench, gpu: GpuTokenizer, form: str, output: Any
) -> None:
    batch = gpu.encode_batch(FORMS[form](gpu), output=output)
    assert batch.ids.dtype == np.int32
    assert batch.offsets.dtype == np.int64
    assert batch.to_host() == bench.tokenizer.encode_batch(TEXTS)
    assert batch.to_host().device == batch.device == "host:0"
    assert len(batch) == len(TEXTS)


@pytest.mark.parametrize("special_in_text", ["encode", "text"])
@pytest.mark.parametrize("add_special_tokens", [False, True])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_options_do_what_they_do_on_the_cpu(
    bench: Bench, gpu: GpuTokenizer, dtype: Any, add_special_tokens: bool, special_in_text: Any
) -> None:
    how: dict[str, Any] = {
        "dtype": dtype, "add_special_tokens": add_special_tokens, "errors": "replace",
        "special_in_text": special_in_text,
    }  # fmt: skip
    clean = ["hello world", "", "1234 hello"]
    for texts in (TEXTS, [*TEXTS, "\ud800 alone"], [b"\xff\xff", *TEXTS, b"hell\xc3"], clean):
        wanted = bench.tokenizer.encode_batch(texts, **how)
        for output in ("device", "host"):
            found = gpu.encode_batch(texts, output=output, **how)
            assert found.ids.dtype == dtype
            assert found.to_host() == wanted


def test_documents_that_the_cpu_encoded_are_counted_by_reason(
    bench: Bench, gpu: GpuTokenizer
) -> None:
    texts = ["hello", b"\xff", "a <s> b", "y" * 9000, "\ud800", "hello world"]
    found = gpu.encode_batch(texts, errors="replace").fallbacks
    assert found == {"invalid_utf8": 2, "added_token": 1, "long_word": 1}
    assert not gpu.encode_batch(["a <s> b"], special_in_text="text").fallbacks
    accents = gpu.encode_batch(["cafe\u0301", "caf\u00e9"]).fallbacks
    normalizes = bool(bench.tokenizer.describe().normalizer)
    assert accents == ({"not_normalized": 1} if normalizes else {})


@pytest.mark.parametrize("texts", [[], [""], ["", "", ""], ["", "hello", ""], ["h"]])
def test_empty_texts(bench: Bench, gpu: GpuTokenizer, texts: list[str]) -> None:
    for extra in (False, True):
        wanted = bench.tokenizer.encode_batch(texts, add_special_tokens=extra)
        for output in ("device", "host"):
            found = gpu.encode_batch(texts, add_special_tokens=extra, output=cast("Any", output))
            assert found.to_host() == wanted


@pytest.mark.parametrize("batch_bytes", [1, 100, 1000])
def test_batches_are_cut_between_documents(bench: Bench, batch_bytes: int) -> None:
    gpu = bench.gpu(batch_bytes=batch_bytes)
    for extra in (False, True):
        wanted = bench.tokenizer.encode_batch(TEXTS, add_special_tokens=extra)
        assert gpu.encode_batch(TEXTS, add_special_tokens=extra).to_host() == wanted


def test_documents_longer_than_the_device_takes_go_to_the_cpu(plain: Bench) -> None:
    gpu = plain.gpu(batch_bytes=200)
    gpu._longest = 500
    texts = ["hello", "hello world " * 60, "", "ab " * 100]
    for output in ("device", "host"):
        found = gpu.encode_batch(texts, output=cast("Any", output))
        assert found.fallbacks == {"long_document": 1}
        assert found.to_host() == plain.tokenizer.encode_batch(texts)


def test_many_documents_in_any_order_of_blocks(plain: Bench) -> None:
    gpu = plain.gpu({"shuffle": 5})
    texts = random_texts(6000, seed=1, most=4)
    assert gpu.encode_batch(texts).to_host() == plain.tokenizer.encode_batch(texts)
    assert gpu.encode_batch(texts, add_special_tokens=True).to_host() == (
        plain.tokenizer.encode_batch(texts, add_special_tokens=True)
    )


@pytest.mark.parametrize("learn", [False, True])
def test_a_table_of_any_state_gives_the_same_ids(plain: Bench, learn: bool) -> None:
    gpu = plain.gpu(learn=learn, table_bits=10)
    for seed in (1, 2, 1):
        texts = random_texts(200, seed)
        assert gpu.encode_batch(texts).to_host() == plain.tokenizer.encode_batch(texts)


def test_words_that_were_forgotten_are_learnt_again(plain: Bench) -> None:
    gpu = plain.gpu()
    engine = gpu._engine
    texts = ["zebra crossing, zebra"] * 5 + ["a zebra in the morning"]
    part = gpu.parts(texts)[0]
    slot = engine.slot(part.data.size, len(texts))

    def unknown_words(job: Job) -> tuple[int, int]:
        engine.load(slot, part, 0, len(texts))
        for _ in engine.run_steps(slot, job):
            pass
        counters = gpu.backend.to_host(slot.counters)
        assert counters[ID_COUNT] == len(plain.tokenizer.encode_batch(texts).ids)
        return int(counters[MISS_COUNT]), int(counters[BIN_COUNT : BIN_COUNT + 6].sum())

    plain_job = Job(with_special=True, bits=32)
    gpu.forget_words()
    first, merged = unknown_words(plain_job)
    assert 0 < merged < first  # equal ones once
    assert unknown_words(plain_job)[0] < first
    gpu.forget_words()
    assert unknown_words(Job(with_special=True, bits=32, keep_repeats=True)) == (first, first)


@pytest.mark.parametrize(("bits", "unknown"), [(12, 3), (18, 0)])
def test_a_large_table_knows_every_character(plain: Bench, bits: int, unknown: int) -> None:
    gpu = plain.gpu(table_bits=bits)
    gpu.forget_words()  # those of the test at the start
    texts = ["\u4e2d\u6587", "\uac00", "\u4e2d"]  # no token holds two of them
    slot = gpu._engine.slot(64, len(texts))
    gpu._engine.load(slot, gpu.parts(texts)[0], 0, len(texts))
    for _ in gpu._engine.run_steps(slot, Job(with_special=True, bits=32)):
        pass
    merged = gpu.backend.to_host(slot.counters)[BIN_COUNT : BIN_COUNT + 6].sum()
    assert merged == unknown
    assert gpu.encode_batch(texts).to_host() == plain.tokenizer.encode_batch(texts)


def test_launches_of_small_batches_are_captured_once_a_class(plain: Bench) -> None:
    gpu = plain.gpu()
    device = device_of(gpu)
    before = device.graphs_launched
    for texts in (TEXTS, TEXTS[:7], ["hello"]):
        gpu.encode_batch(texts)
    assert device.graphs_launched == before + 3
    slot = gpu._slot
    assert slot is not None
    assert list(slot.graphs) == [(1 << 20, True)]
    gpu.encode_batch([""] * 5000 + ["hello"])  # more documents than those launches are for
    assert device.graphs_launched == before + 3


def test_text_on_the_device_is_not_copied_where_it_has_room(plain: Bench) -> None:
    gpu = plain.gpu()
    texts = ["hello world"]
    roomy = on_device(gpu, texts, 512)
    gpu.encode_batch(roomy)
    assert gpu._slot is not None
    assert gpu._slot.here.ctypes.data == roomy.data.ctypes.data
    gpu.encode_batch(on_device(gpu, texts))
    assert gpu._slot.here is gpu._slot.text


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
    part = Part(4, np.frombuffer(b"abcdef", np.uint8), np.array([0, 1, 3, 6]), originals={1: "x"})
    piece = slice_of(part, 1, 3, 0)
    assert (len(piece), piece.skipped, piece.originals) == (2, 5, {0: "x"})


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ([*TEXTS, b"bad \xff"], {}),
        ([*TEXTS, "\udc80"], {}),
        (["hello", "no <s> here"], {"special_in_text": "raise"}),
        (["hello", 7], {}),
        (["hello", memoryview(b"world")[::2]], {}),
        ([None], {}),
        (pa.array(["hello", None]), {}),
        (pa.array([1, 2]), {}),
        ("a single text", {}),
        (7, {}),
    ],
)
@pytest.mark.parametrize("output", ["device", "host"])
def test_errors_are_those_of_the_cpu(
    bench: Bench, gpu: GpuTokenizer, texts: Any, options: Any, output: Any
) -> None:
    with pytest.raises(EncodeError) as wanted:
        bench.tokenizer.encode_batch(texts, **options)
    with pytest.raises(EncodeError) as found:
        gpu.encode_batch(texts, output=output, **options)
    assert type(found.value) is type(wanted.value)
    assert str(found.value) == str(wanted.value)
    assert found.value.document == wanted.value.document
    assert gpu.encode_batch(TEXTS).to_host() == bench.tokenizer.encode_batch(TEXTS)


def test_wrong_options_are_refused(gpu: GpuTokenizer, plain: Bench) -> None:
    with pytest.raises(DtypeError, match="int64"):
        gpu.encode_batch(["a"], dtype=cast("Any", "int64"))
    with pytest.raises(OptionError, match="output"):
        gpu.encode_batch(["a"], output=cast("Any", "disk"))
    with pytest.raises(OptionError, match="offsets"):
        gpu.encode_batch(FlatTexts(b"abc", [0, 4]))
    with pytest.raises(OptionError, match="rise"):
        gpu.encode_batch(FlatTexts(b"abc", [0, 2, 1]))
    for name, wrong in (
        ("batch_bytes", 0), ("table_bits", 9), ("table_bits", 27), ("table_bits", 12.0),
        ("max_memory", "1G"), ("max_memory", -1), ("device", "cuda:0"), ("device", None),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=name):
            GpuTokenizer(plain.tokenizer, **cast("Any", {name: wrong}))
    with pytest.raises(OptionError, match="at least one"):
        plain.several(0)
    with pytest.raises(OptionError, match=r"tokenmill\.Tokenizer, got str"):
        GpuTokenizer("tokenizer.json")


def test_dtypes_are_given_as_numpy_takes_them(gpu: GpuTokenizer) -> None:
    for dtype in (np.uint16, np.dtype("uint16"), "u2"):
        assert gpu.encode_batch(["hello"], dtype=cast("Any", dtype)).ids.dtype == np.uint16
    with pytest.raises(DtypeError, match="'uint32', 'uint16', got 'int32'"):
        gpu.encode_host(b"hello", [0, 5], dtype=cast("Any", "int32"))


@pytest.mark.parametrize(
    ("data", "offsets", "problem"),
    [
        (np.array([104, 101]), [0, 2], "items of 8 bytes"),
        (np.zeros(8, np.uint8)[::2], [0, 2], "with gaps"),
        ("hello", [0, 5], "got str"),
        (b"hello", [0, 2.5], "whole numbers"),
        (b"hello", None, "whole numbers"),
        (b"hello", [[0, 5]], "whole numbers"),
        (b"hello", [], "whole numbers"),
        (b"hello", [-1, 5], "rise up to 5"),
    ],
)
def test_flat_texts_are_bytes_and_whole_numbers(
    gpu: GpuTokenizer, data: Any, offsets: Any, problem: str
) -> None:
    with pytest.raises(OptionError, match=problem):
        gpu.encode_batch(FlatTexts(data, offsets))


def test_memory_for_ids_must_be_a_row_to_write_to(gpu: GpuTokenizer) -> None:
    room = np.zeros((4, 9), np.uint32)
    for out in ([0] * 9, np.zeros(9, np.int32), room, room[:, 0], np.frombuffer(bytes(36), "u4")):
        with pytest.raises(DtypeError, match="out"):
            gpu.encode_host(b"hello", [0, 5], out=cast("Any", out))
    assert not room.any()


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
    most = plain.gpu()._engine.memory_for(1 << 20, 1 + SLOTS)
    gpu = plain.gpu(max_memory=most)
    texts = ["hello world " * 80_000] * (SLOTS + 1)
    assert gpu.encode_batch(texts[:1]).to_host() == plain.tokenizer.encode_batch(texts[:1])
    found = gpu.encode_batch(texts, output="host")
    assert not found.fallbacks
    assert found.to_host() == plain.tokenizer.encode_batch(texts)
    assert gpu._ring is not None
    slots = [gpu._slot, *(lane.slot for lane in gpu._ring._lanes if lane is not None)]
    assert len(slots) == 1 + SLOTS
    held = sum(array.nbytes for array in gpu._engine._work.values())
    held += sum(slot.text.nbytes + slot.ids.nbytes for slot in slots if slot is not None)
    assert 0.9 * most < held <= most


def test_documents_with_bytes_that_are_no_tokens_leave_the_others_alone(
    tmp_path: Path, kernel_folder: Path
) -> None:
    definition = small_definition()
    vocab = definition["model"]["vocab"]
    missing = alphabet()[0xAD]  # the last byte of the character below
    definition["model"]["vocab"] = {t: i for t, i in vocab.items() if t != missing}
    bench = Bench(Tokenizer.load(write(tmp_path, definition)), kernel_folder)
    gpu = bench.gpu(table_bits=16)
    texts = ["hello", "\u4e2d", "hello world " * 900, "\u4e2d\u6587 \u4e2d", "1234", ""] * 3
    wanted = bench.tokenizer.encode_batch(texts)  # the long ones go on from tile to tile
    for _ in range(3):  # the table has learnt such words by then
        found = gpu.encode_batch(texts)
        assert found.fallbacks == {"added_token": 6}
        assert found.to_host() == wanted


def test_what_stands_around_texts_is_found_without_common_letters(
    tmp_path: Path, kernel_folder: Path
) -> None:
    definition = small_definition()
    vocab = definition["model"]["vocab"]
    definition["model"]["merges"] = []
    missing = {*"abcdefghij", *(token for token in vocab if len(token) > 1)}
    definition["model"]["vocab"] = {t: i for t, i in vocab.items() if t not in missing}
    bench = Bench(Tokenizer.load(write(tmp_path, definition)), kernel_folder)
    gpu = bench.gpu()
    for texts in (["", "k", "lm"], TEXTS):
        wanted = bench.tokenizer.encode_batch(texts, add_special_tokens=True)
        assert gpu.encode_batch(texts, add_special_tokens=True).to_host() == wanted


class Faulty(HostDevice):
    """A device that gets one id wrong."""

    def run_kernel(self, name: str, blocks: int, threads: int, tables: int, batch: int) -> None:
        super().run_kernel(name, blocks, threads, tables, batch)
        if name == "emit_ids" and self.ids is not None:
            self.ids[100] ^= 1

    ids: Any = None

    def zeros(self, count: int, dtype: Any) -> Any:
        array = super().zeros(count, dtype)
        if np.dtype(dtype) == np.uint32 and count == 1 << 20:
            self.ids = array  # the ids of a slot
        return array


def test_a_device_that_gives_other_ids_is_not_used(plain: Bench) -> None:
    def faulty(defines: Any) -> Any:
        return Faulty(build(plain.folder, defines))

    with pytest.raises(DeviceError, match="other ids") as caught:
        GpuTokenizer(plain.tokenizer, _connect=faulty, table_bits=12)
    assert caught.value.reason == "selftest_failed"


def test_a_fault_that_the_kernels_notice_leaves_the_batch_to_the_cpu(plain: Bench) -> None:
    gpu = plain.gpu()
    gpu.encode_batch(TEXTS)
    slot = gpu._slot
    assert slot is not None
    arrival = 9
    device = device_of(gpu)
    run = device.run_kernel

    def noticed(name: str, *rest: int) -> None:
        run(name, *rest)
        if name == "document_ids":
            slot.counters[arrival] = 1

    device.run_kernel = noticed  # type: ignore[method-assign, assignment]
    found = gpu.encode_batch(TEXTS)
    assert found.fallbacks == {"no_sync": len(TEXTS)}
    assert found.to_host() == plain.tokenizer.encode_batch(TEXTS)


def test_results_are_shown(gpu: GpuTokenizer) -> None:
    batch = gpu.encode_batch(["hello", "hello world"])
    assert isinstance(batch, GpuTokenBatch)
    assert repr(batch) == "GpuTokenBatch(2 rows, 3 int32 ids on host:0)"
    assert isinstance(batch.to_host(), TokenBatch)
