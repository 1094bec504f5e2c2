"""Lines read and encoded by native calls: what the CPU returns, for blocks of every shape."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from tokenmill import DeviceError, SpecialTokenInText
from tokenmill._core import BlockRules
from tokenmill._cuda.encoder import GpuEncoder
from tokenmill._cuda.jsonl import JsonlReader, JsonlRules, JsonlSlot
from tokenmill._cuda.layout import BatchCounter
from tokenmill._cuda.line_device import DOES_NOT_FIT, LEFT_TO_READER
from tokenmill._cuda.options import CallOptions

if TYPE_CHECKING:
    from tests.cuda.conftest import Bench
    from tests.cuda.devices import HostDevice

    from tokenmill._cuda.device_tokenizer import DeviceTokenizer

SIZE = 1 << 13
SPECIAL = {"encode": 0, "text": 1, "raise": 2}
LONG = "word " * 200
BLOCKS: dict[str, bytes] = {
    "one": b'{"text": "a b"}\n',
    "no newline": b'{"text": "a b"}',
    "blank lines": b"\n\n \r\n" + b'{"text": "x"}\n\n',
    "only blanks": b"\n \n",
    "only bad": b"{bad\n[]\n" + b'{"text": 1}\n',
    "bad between": b'{"text": "a"}\n{bad\n{"text": "b"}\n{"text": ""}\n{"other": 1}\n{"text": "c"}',
    "not UTF-8": b'{"text": "\xff"}\n{"text": "fine"}\n',
    "escapes": json.dumps({"text": '\u00e9 \U0001f600 \n\t"\\ ' * 9}).encode() + b"\n",
    "composes": '{"text": "e\u0301 and \u00e9"}\n{"text": "plain"}\n'.encode() * 3,
    "many ids": json.dumps({"text": "\U0001f600\u4e2d" * 200}).encode() + b"\n",
    "an eighth": b'{"text": "' + b"x" * (SIZE // 8 - 13) + b'"}\n',
    "over an eighth": b'{"text": "' + b"x " * (SIZE // 16) + b'"}\n',
    "full": b'{"text": "' + b"ab " * ((SIZE - 13) // 3) + b'"}\n',
    "many lines": b'{"text": "a"}\n' * (SIZE // 14),
}


class Lines:
    """Native lanes over a test device, small enough that sizes are reached."""

    def __init__(self, gpu: DeviceTokenizer, lanes: int = 1, room: int = 0, **options: Any) -> None:
        self.gpu, self.backend = gpu, cast("HostDevice", gpu.backend)
        special = options.pop("special", "encode")
        dtype = options.pop("dtype", "uint32")
        self.rules = BlockRules(
            "text", [7], [8, 9], special_mode=SPECIAL[special], bits=16 if dtype == "uint16" else 32
        )
        self.native = gpu.new_lines(CallOptions(dtype, special_in_text=special))
        self.reader = JsonlReader(gpu.backend, JsonlRules("text", **options))
        self.slots = []
        for _ in range(lanes):
            host, slot = gpu.backend.pinned(SIZE, np.uint8), JsonlSlot(gpu.backend, SIZE)
            seat = self.native.add_seat(SIZE, slot.lines)
            self.native.add_lane(host, slot, gpu.backend.new_stream(), room, seat)
            self.slots.append(slot)

    def encode(self, block: bytes) -> Any:
        reading = self.native.reading(self.reader)
        return self.gpu.model.encode_lines(self.native.core, block, self.rules, reading)

    def expected(self, block: bytes) -> tuple[Any, ...]:
        return self.gpu.model.encode_jsonl(block, self.rules)


def assert_same(found: Any, expected: Any) -> None:
    for mine, its in zip(found, expected, strict=False):
        assert mine.dtype == its.dtype
        np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_has_the_ids_and_places_of_the_cpu(name: str, gpu: DeviceTokenizer) -> None:
    lines = Lines(gpu)
    for _ in range(2):  # in memory that was used before, too
        assert_same(lines.encode(BLOCKS[name]), lines.expected(BLOCKS[name]))


def test_blocks_of_all_sizes_follow_each_other_in_a_lane(gpu: DeviceTokenizer) -> None:
    lines = Lines(gpu, room=1)
    whole = b"".join(json.dumps({"text": LONG[:n]}).encode() + b"\n" for n in range(1, 90))
    for end in (*range(1, 60, 7), 1023, 1024, 1025, 4095, 4096, 4097, len(whole), 30):
        block = whole[:end]
        assert_same(lines.encode(block), lines.expected(block))


def test_ids_of_16_bits(plain: Bench) -> None:
    lines = Lines(plain.gpu(), dtype="uint16")
    for block in BLOCKS.values():
        assert_same(lines.encode(block), lines.expected(block))


def test_documents_of_the_cpu_are_counted_by_their_flags(bench: Bench) -> None:
    lines = Lines(bench.gpu())
    *found, flags = lines.encode(BLOCKS["composes"])
    assert_same(found, lines.expected(BLOCKS["composes"]))
    encoder = GpuEncoder(lines.gpu)
    encoder.count_flags(flags)
    assert sum(encoder.fallbacks.values()) == flags.size
    assert set(encoder.fallbacks) <= {"not_normalized"}


def test_work_that_went_wrong_is_done_by_the_cpu(plain: Bench) -> None:
    lines = Lines(plain.gpu())
    counters, launch = lines.native.seats[0].counters, lines.backend.run_kernel

    def broken(name: str, *places: Any) -> None:
        launch(name, *places)
        if name == "document_ids":
            counters[BatchCounter.ARRIVAL] = 1

    lines.backend.run_kernel = broken  # type: ignore[method-assign,assignment]
    *found, flags = lines.encode(BLOCKS["bad between"])
    assert_same(found, lines.expected(BLOCKS["bad between"]))
    assert flags.size == 3


def test_what_a_lane_does_not_do(plain: Bench) -> None:
    lines = Lines(plain.gpu())
    assert lines.encode(b"") == DOES_NOT_FIT
    assert lines.encode(b" " * SIZE + b"\n") == DOES_NOT_FIT
    assert lines.encode(b'{"text": "' + b"\\" * 5000 + b'"}\n') == LEFT_TO_READER
    repairing = Lines(plain.gpu(), replace_bad_utf8=True)
    assert repairing.encode(BLOCKS["not UTF-8"]) == LEFT_TO_READER


def test_a_special_token_is_an_error_if_asked(plain: Bench) -> None:
    lines = Lines(plain.gpu(), special="raise")
    token = next(iter(plain.tokenizer.special_tokens))
    with pytest.raises(SpecialTokenInText):
        lines.encode(json.dumps({"text": f"a {token} b"}).encode())
    assert_same(lines.encode(BLOCKS["one"]), lines.expected(BLOCKS["one"]))


def test_threads_share_lanes_and_the_tables(gpu: DeviceTokenizer) -> None:
    lines = Lines(gpu, lanes=2)
    blocks = list(BLOCKS.values()) * 3
    with ThreadPoolExecutor(5) as pool:
        others = [pool.submit(gpu.encode_batch, [LONG, "x" * n]) for n in range(1, 4000, 900)]
        found = list(pool.map(lines.encode, blocks))
    for one, block in zip(found, blocks, strict=True):
        assert_same(one, lines.expected(block))
    for other in others:
        assert other.result().to_host()[0].tolist() == gpu.model.encode(LONG).tolist()


def test_larger_buffers_are_seen_by_recorded_work(plain: Bench) -> None:
    gpu = plain.gpu()
    lines = Lines(gpu)
    gpu.encode_batch(["a b " * (1 << 19)])  # two megabytes: all shared buffers are replaced
    assert_same(lines.encode(BLOCKS["full"]), lines.expected(BLOCKS["full"]))


def test_a_native_call_waits_for_the_turn_before(plain: Bench) -> None:
    gpu = plain.gpu()
    lines = Lines(gpu)
    there = gpu.encode_batch([LONG])  # not waited for
    assert_same(lines.encode(BLOCKS["full"]), lines.expected(BLOCKS["full"]))
    assert there.to_host()[0].tolist() == gpu.model.encode(LONG).tolist()


@pytest.mark.parametrize("call", ["use_context", "copy", "launch", "record", "synchronize"])
def test_an_error_of_the_driver_is_reported(call: str, plain: Bench) -> None:
    lines = Lines(plain.gpu())
    calls = lines.backend._calls
    calls.failing = call
    with pytest.raises(DeviceError, match="reported an error") as raised:
        lines.encode(BLOCKS["one"])
    assert raised.value.reason == "device_failed"
    calls.failing = ""
    assert_same(lines.encode(BLOCKS["one"]), lines.expected(BLOCKS["one"]))


def test_a_lock_is_free_after_an_error(plain: Bench) -> None:
    gpu = plain.gpu()
    with pytest.raises(KeyError), gpu._turn:
        raise KeyError
    with gpu._turn:
        assert gpu._turn.last == 0 or gpu._turn.last > 0


def lent(lines: Lines, block: bytes) -> tuple[Any, bytes]:
    """Encode a block in a lane that it is read into, and return what is in the lane afterwards."""
    found = lines.native.lend()
    assert found is not None
    number, memory = found
    data = memory[: len(block)]
    data[:] = np.frombuffer(block, np.uint8)
    reading = lines.native.reading(lines.reader)
    try:
        made = lines.gpu.model.encode_lines(lines.native.core, data, lines.rules, reading, number)
        return made, data.tobytes()
    finally:
        lines.native.core.give_back(number)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_that_is_read_into_its_lane(name: str, gpu: DeviceTokenizer) -> None:
    """Its bytes stay, because bad records show them, and the CPU may have to read them."""
    lines, block = Lines(gpu), BLOCKS[name]
    for count in (1, 2):
        found, left = lent(lines, block)
        assert_same(found, lines.expected(block))
        assert left == block
        assert lines.native.core.spent["in_place"] == count
    assert_same(lines.encode(block), lines.expected(block))
    assert lines.native.core.spent["in_place"] == 2


def test_bytes_stay_if_all_documents_are_for_the_cpu(plain: Bench) -> None:
    lines = Lines(plain.gpu(), room=1)  # what is fetched goes through little memory
    counters, launch = lines.native.seats[0].counters, lines.backend.run_kernel

    def broken(name: str, *places: Any) -> None:
        launch(name, *places)
        if name == "document_ids":
            counters[BatchCounter.ARRIVAL] = 1

    lines.backend.run_kernel = broken  # type: ignore[method-assign,assignment]
    for block in BLOCKS.values():
        found, left = lent(lines, block)
        assert_same(found, lines.expected(block))
        assert left == block


def test_a_lane_is_lent_to_one(plain: Bench) -> None:
    lines = Lines(plain.gpu(), lanes=2)
    core = lines.native.core
    numbers = [core.lend(), core.lend()]
    assert sorted(number for number in numbers if number is not None) == [0, 1]
    assert core.lend() is None
    assert core.free_lanes == 0
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(lines.encode, BLOCKS["one"])  # until one is given back
        core.give_back(1)
        assert_same(waits.result(), lines.expected(BLOCKS["one"]))
    assert core.lend() == 1


def test_lines_that_are_elsewhere_are_copied_into_a_lent_lane(plain: Bench) -> None:
    lines = Lines(plain.gpu())
    number = lines.native.core.lend()
    reading = lines.native.reading(lines.reader)
    for block in (BLOCKS["bad between"], b" " * SIZE + b"\n"):
        found = lines.gpu.model.encode_lines(lines.native.core, block, lines.rules, reading, number)
        if len(block) > SIZE:
            assert found == DOES_NOT_FIT
        else:
            assert_same(found, lines.expected(block))
    assert lines.native.core.spent["in_place"] == 0
