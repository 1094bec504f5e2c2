"""Records of another tier are believed if they are whole, of this segment, and right."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.reference import segment_records as reference

from tokenmill import Tokenizer, _core

SEED = bytes(16)
TEXTS = ["hello world", "a" * 64, "b" * 63 + "\u00e9", "words, and more words. " * 50]


class Shelf:
    """A tier outside: a dictionary that can be tampered with."""

    def __init__(self) -> None:
        self.records: dict[bytes, bytes] = {}
        self.refused: list[bytes] = []

    def fetch(self, keys: list[bytes]) -> list[bytes | None]:
        return [self.records.get(key) for key in keys]

    def store(self, records: list[tuple[bytes, bytes]]) -> None:
        self.records.update(records)

    def refuse(self, keys: list[bytes]) -> None:
        self.refused += keys


def new_core(verify: int = 0) -> _core.SegmentCache:
    return _core.SegmentCache(1 << 20, 1, 0, 1, verify, SEED, False)


def encode(core: _core.SegmentCache, tokenizer: Tokenizer, text: str, shelf: Shelf) -> list[int]:
    model = tokenizer.ready.model
    ids: Any = core.encode_cached(model, text, False, 0, 0, None, shelf)
    return [int(i) for i in ids]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


@pytest.mark.parametrize("text", TEXTS)
def test_a_record_is_what_the_reference_writes(
    tokenizer: Tokenizer, shelf: Shelf, text: str
) -> None:
    ids = encode(new_core(), tokenizer, text, shelf)
    (record,) = shelf.records.values()
    assert reference.read(record)[:2] == (text.encode(), ids)
    bits = tokenizer.ready.model.max_id.bit_length()
    model = _core.SegmentCache.fingerprint(tokenizer.ready.model)
    assert record == reference.write(text.encode(), ids, bits, model)
    assert _core.is_whole_record(record)


def test_a_record_is_used_instead_of_encoding(tokenizer: Tokenizer, shelf: Shelf) -> None:
    encode(new_core(), tokenizer, TEXTS[0], shelf)
    core = new_core()
    assert encode(core, tokenizer, TEXTS[0], shelf) == tokenizer.encode(TEXTS[0]).tolist()
    assert core.models()[0]["other_hits"] == 1
    assert core.models()[0]["stored"] == 0


def test_no_flipped_bit_is_believed(tokenizer: Tokenizer, shelf: Shelf) -> None:
    right = encode(new_core(), tokenizer, TEXTS[0], shelf)
    ((key, record),) = shelf.records.items()
    for bit in range(8 * len(record)):
        broken = bytearray(record)
        broken[bit // 8] ^= 1 << bit % 8
        assert not _core.is_whole_record(bytes(broken))
    for cut in range(len(record)):
        assert not _core.is_whole_record(record[:cut])
    shelf.records = {key: record[:-1]}
    core = new_core()
    assert encode(core, tokenizer, TEXTS[0], shelf) == right
    assert shelf.refused == [key]
    assert core.models()[0]["other_damaged"] == 1


def test_hostile_sizes_are_refused() -> None:
    choose = random.Random(1)  # noqa: S311
    sizes = [0, 1, 7, 2**31, 2**32, 2**61, 2**63, 2**64 - 1]
    for _ in range(500):
        bits, text, count = choose.randrange(70), choose.choice(sizes), choose.choice(sizes)
        header = reference.HEADER.pack(
            reference.MAGIC, 1, bits, 0, text, count, 0, bytes(16), bytes(16)
        )
        assert not _core.is_whole_record(header + bytes(choose.randrange(20)))


def test_a_whole_record_of_another_segment_is_not_used(tokenizer: Tokenizer, shelf: Shelf) -> None:
    encode(new_core(), tokenizer, TEXTS[0], shelf)
    ((key, record),) = shelf.records.items()
    _, ids, model = reference.read(record)
    shelf.records = {key: reference.write(b"hello wORLD", ids, 18, model)}
    core = new_core()
    assert encode(core, tokenizer, TEXTS[0], shelf) == tokenizer.encode(TEXTS[0]).tolist()
    assert core.models()[0]["other_hits"] == 0


def test_an_id_that_the_vocabulary_lacks_is_not_used(tokenizer: Tokenizer, shelf: Shelf) -> None:
    encode(new_core(), tokenizer, TEXTS[0], shelf)
    ((key, record),) = shelf.records.items()
    text, _, model = reference.read(record)
    shelf.records = {key: reference.write(text, [tokenizer.ready.model.max_id + 1], 20, model)}
    core = new_core()
    assert encode(core, tokenizer, TEXTS[0], shelf) == tokenizer.encode(TEXTS[0]).tolist()
    assert core.models()[0]["other_damaged"] == 1


def test_a_difference_is_found_counted_and_clears_the_cache(
    tokenizer: Tokenizer, shelf: Shelf
) -> None:
    encode(new_core(), tokenizer, TEXTS[0], shelf)
    ((key, record),) = shelf.records.items()
    text, ids, model = reference.read(record)
    shelf.records = {key: reference.write(text, ids[::-1], 18, model)}  # a wrong one that is whole
    core = new_core(verify=1)
    right = tokenizer.encode(TEXTS[0]).tolist()
    encode(core, tokenizer, TEXTS[1], Shelf())
    assert encode(core, tokenizer, TEXTS[0], shelf) == right
    assert core.models()[0]["differences"] == 1
    assert core.use()["entries"] == 0
    assert encode(core, tokenizer, TEXTS[0], Shelf()) == right


def test_a_model_whose_speed_is_unknown_is_measured_first(
    tokenizer: Tokenizer, shelf: Shelf
) -> None:
    encode(new_core(), tokenizer, TEXTS[3], shelf)
    core = new_core()
    encode(core, tokenizer, TEXTS[3], shelf)
    assert core.models()[0]["checked"] == 1
    assert core.models()[0]["seconds_per_byte"] > 0
