"""What a tokenizer on a device refuses, and devices that return wrong ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pytest
from tests.cuda.devices import HostDevice
from tests.cuda.gpu_texts import TEXTS, device_of, slots_of
from tests.cuda.shim import build

from tokenmill import (
    DtypeError,
    EncodeError,
    OptionError,
    TextTypeError,
)
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.layout import BatchCounter
from tokenmill._cuda.options import DeviceOptions
from tokenmill._errors import DeviceError
from tokenmill.cuda import FlatTexts, GpuTokenizer, GpuTokenizers

if TYPE_CHECKING:
    from tests.cuda.conftest import Bench


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
    bench: Bench, gpu: DeviceTokenizer, texts: Any, options: Any, output: Any
) -> None:
    with pytest.raises(EncodeError) as wanted:
        bench.tokenizer.encode_batch(texts, **options)
    with pytest.raises(EncodeError) as found:
        gpu.encode_batch(texts, output=output, **options)
    assert vars(found.value) == vars(wanted.value)
    assert type(found.value) is type(wanted.value)
    assert str(found.value) == str(wanted.value)
    assert found.value.document == wanted.value.document
    assert gpu.encode_batch(TEXTS).to_host() == bench.tokenizer.encode_batch(TEXTS)


def test_an_item_of_a_generator_that_is_not_a_text_is_named(
    bench: Bench, gpu: DeviceTokenizer
) -> None:
    for encode in (bench.tokenizer.encode_batch, gpu.encode_batch):
        with pytest.raises(TextTypeError, match=r"^document 1: .*got int"):
            encode(text for text in ("hello", 7))


def test_wrong_options_are_refused(gpu: DeviceTokenizer, plain: Bench) -> None:
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
        GpuTokenizers(plain.tokenizer, [])
    with pytest.raises(OptionError, match=r"tokenmill\.Tokenizer, got str"):
        GpuTokenizer(cast("Any", "tokenizer.json"))


def test_dtypes_are_given_as_numpy_takes_them(gpu: DeviceTokenizer) -> None:
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
    gpu: DeviceTokenizer, data: Any, offsets: Any, problem: str
) -> None:
    with pytest.raises(OptionError, match=problem):
        gpu.encode_batch(FlatTexts(data, offsets))


def test_memory_for_ids_must_be_a_row_to_write_to(gpu: DeviceTokenizer) -> None:
    room = np.zeros((4, 9), np.uint32)
    for out in ([0] * 9, np.zeros(9, np.int32), room, room[:, 0], np.frombuffer(bytes(36), "u4")):
        with pytest.raises(DtypeError, match="out"):
            gpu.encode_host(b"hello", [0, 5], out=cast("Any", out))
    assert not room.any()


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

    options = DeviceOptions(table_bits=12)
    with pytest.raises(DeviceError, match="different ids") as caught:
        DeviceTokenizer(plain.tokenizer.ready, 0, options, connect=faulty)
    assert caught.value.reason == "selftest_failed"


def test_a_fault_that_the_kernels_notice_leaves_the_batch_to_the_cpu(plain: Bench) -> None:
    gpu = plain.gpu()
    gpu.encode_batch(TEXTS)
    (slot,) = slots_of(gpu)
    device = device_of(gpu)
    run = device.run_kernel

    def noticed(name: str, *rest: int) -> None:
        run(name, *rest)
        if name == "document_ids":
            slot.counters[BatchCounter.ARRIVAL] = 1

    device.run_kernel = noticed  # type: ignore[method-assign, assignment]
    found = gpu.encode_batch(TEXTS)
    assert found.fallbacks == {"no_sync": len(TEXTS)}
    assert found.to_host() == plain.tokenizer.encode_batch(TEXTS)
