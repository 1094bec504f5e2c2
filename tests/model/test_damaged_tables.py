"""Compiled models whose numbers lead nowhere are refused, whatever their checksum says."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from tests.encode.test_other_models import tokenizer_of, with_bytes
from tests.load.sources import write_json
from tests.models import compile_payload, ranked_model, spec_of

from tokenmill import CorruptModel, _core
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Sections of core/vocab/vocab.h.
SCALARS, OFFSETS, INDEX, EXTERNAL, PAIRS, BYTE_PAIRS = 100, 102, 104, 107, 108, 109
SEEDS8, SEED_IDS, INTERNAL, CELLS, SURE_PAIRS = 114, 116, 117, 118, 124
NODE_TOKENS, NODE_SCORES, CHAR_NODES, CHAR_SYMBOLS, CHAR_VALUES = 125, 126, 127, 128, 129
NONE = 0xFFFFFFFF
TOKEN_BIT = 0x100
BEYOND = 1 << 22  # more than any table of these models has
SCORES = {"<unk>": 0.0, "a": -1.0, "ab": -1.5, "b": -2.0, "\u4e2d": -3.0, "\u4e2d\u6587": -4.0}
TEXT = "ab abab \u4e2d\u6587 \u00e9 <s> xyz"


class Section(NamedTuple):
    entry: int  # of the table of sections
    begin: int
    size: int


def section(payload: bytes, number: int) -> Section:
    (count,) = struct.unpack_from("<I", payload, 12)
    for entry in range(24, 24 + 24 * count, 24):
        found, _, begin, size = struct.unpack_from("<IIQQ", payload, entry)
        if found == number:
            return Section(entry, begin, size)
    raise AssertionError(f"no section {number}")


def numbers_of(payload: bytes, number: int, kind: str = "<u4") -> NDArray[np.uint64]:
    place = section(payload, number)
    data = payload[place.begin : place.begin + place.size]
    return np.frombuffer(data, kind).astype(np.uint64)


def changed(payload: bytes, number: int, at: int, value: int, kind: str = "<u4") -> bytes:
    place = section(payload, number)
    data = np.array(value, kind).tobytes()
    begin = place.begin + (at * len(data)) % place.size
    return payload[:begin] + data + payload[begin + len(data) :]


def runs(payload: bytes) -> bool:
    """Whether a model is accepted; it must then encode without a crash."""
    try:
        model = _core.Model(payload)
    except CorruptModel:
        return False
    model.encode_batch([TEXT] * 3)
    model.encode_spans([TEXT])
    return True


@pytest.fixture(scope="module")
def payloads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    generator = random.Random(3)  # noqa: S311
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [[*item] for item in SCORES.items()]}
    wordpiece = {
        "type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {**{token: i for i, token in enumerate(SCORES)}, "##b": 6},
    }  # fmt: skip
    sources = {
        "characters": (with_bytes(generator), "marked"),
        "unigram": (unigram, "metaspace"),
        "wordpiece": (wordpiece, "bert"),
    }
    folder = tmp_path_factory.mktemp("sources")
    made = {
        name: compile_payload(load_source(write_json(folder, tokenizer_of(*source))))
        for name, source in sources.items()
    }
    tokens = [b"ab", b"abab", b"xyz", b"a b c d e"]  # the last two are made by no merge
    made["bytes"] = compile_payload(spec_of(ranked_model(tokens, ignore_merges=True)))
    return made


@pytest.mark.parametrize("name", ["bytes", "characters", "unigram", "wordpiece"])
def test_undamaged_models_run(payloads: dict[str, bytes], name: str) -> None:
    assert runs(payloads[name])


@pytest.mark.parametrize(
    ("name", "number", "kind"),
    [
        ("unigram", CELLS, "<u4"),
        ("unigram", NODE_TOKENS, "<u4"),
        ("unigram", NODE_SCORES, "<u8"),
        ("unigram", CHAR_NODES, "<u4"),
        ("wordpiece", CELLS, "<u4"),
        ("wordpiece", NODE_TOKENS, "<u4"),
        ("wordpiece", CHAR_VALUES, "<u8"),
        ("characters", CHAR_SYMBOLS, "<u4"),
        ("characters", CHAR_VALUES, "<u8"),
        ("characters", INTERNAL, "<u4"),
        ("bytes", SURE_PAIRS, "<u8"),
    ],
)
def test_a_section_of_another_size_is_refused(
    payloads: dict[str, bytes], name: str, number: int, kind: str
) -> None:
    payload = payloads[name]
    place = section(payload, number)
    size = place.size - np.dtype(kind).itemsize
    short = bytearray(payload)
    struct.pack_into("<Q", short, place.entry + 16, size)
    assert not runs(bytes(short))
    struct.pack_into("<I", short, place.entry, 999)  # not there at all
    has_other_way = (name, number) == ("wordpiece", CHAR_VALUES)
    assert runs(bytes(short)) == has_other_way


@pytest.mark.parametrize("name", ["unigram", "wordpiece"])
def test_a_trie_that_leads_out_is_refused(payloads: dict[str, bytes], name: str) -> None:
    payload = payloads[name]
    cells = numbers_of(payload, CELLS)
    for at in (0, 1, len(cells) // 2, len(cells) - 1):
        low = int(cells[at]) & 0xFF  # the byte that leads there
        last = len(cells) - 256
        assert runs(changed(payload, CELLS, at, last << 9 | low))
        assert not runs(changed(payload, CELLS, at, (last + 1) << 9 | low))
        assert not runs(changed(payload, CELLS, at, NONE))


@pytest.mark.parametrize("name", ["unigram", "wordpiece"])
def test_a_node_without_its_token_is_refused(payloads: dict[str, bytes], name: str) -> None:
    payload = payloads[name]
    cells, tokens = numbers_of(payload, CELLS), numbers_of(payload, NODE_TOKENS)
    (count,) = struct.unpack_from("<I", payload, section(payload, SCALARS).begin)
    ends = np.flatnonzero(cells & TOKEN_BIT)
    assert len(ends)
    for at in map(int, ends):
        assert not runs(changed(payload, NODE_TOKENS, at, 0))
        assert not runs(changed(payload, NODE_TOKENS, at, count + 1))
        assert not runs(changed(payload, NODE_TOKENS, at, NONE))
        assert runs(changed(payload, NODE_TOKENS, at, count))
    free = int(np.flatnonzero((tokens == 0) & (cells & TOKEN_BIT == 0))[-1])
    assert not runs(changed(payload, CELLS, free, int(cells[free]) | TOKEN_BIT))


def test_a_character_without_its_node_is_refused(payloads: dict[str, bytes]) -> None:
    payload = payloads["unigram"]
    size = len(numbers_of(payload, CELLS))
    for code in (0, ord("a"), 0x4E2D, 0xFFFF):
        assert runs(changed(payload, CHAR_NODES, code, NONE))
        assert runs(changed(payload, CHAR_NODES, code, size - 1))
        for node in (size, NONE - 1, 1 << 31):
            assert not runs(changed(payload, CHAR_NODES, code, node))


@pytest.mark.parametrize("name", ["characters", "wordpiece"])
def test_a_character_with_strange_ids_is_refused(payloads: dict[str, bytes], name: str) -> None:
    payload = payloads[name]
    (count,) = struct.unpack_from("<I", payload, section(payload, SCALARS).begin)
    for code in (0x80, 0x4E2D, 0xFFFF):
        assert runs(changed(payload, CHAR_VALUES, code, 1 << 60 | (count - 1), "<u8"))
        for value in (
            *(1 << 60 | count, 2 << 60 | count << 20, 3 << 60 | count << 40),
            *(tag << 60 for tag in range(4, 16)),
        ):
            assert not runs(changed(payload, CHAR_VALUES, code, value, "<u8")), hex(value)


def test_a_symbol_that_does_not_exist_is_refused(payloads: dict[str, bytes]) -> None:
    payload = payloads["characters"]
    size = len(numbers_of(payload, EXTERNAL))
    for number in (CHAR_SYMBOLS, INTERNAL, BYTE_PAIRS):
        assert runs(changed(payload, number, 5, size - 1))
        assert runs(changed(payload, number, 5, NONE))
        for symbol in (size, NONE - 1, 1 << 31):
            assert not runs(changed(payload, number, 5, symbol))


def test_a_seed_with_strange_ids_is_refused(payloads: dict[str, bytes]) -> None:
    payload = payloads["bytes"]
    stored = numbers_of(payload, SEED_IDS)
    values = numbers_of(payload, SEEDS8, "<u8")[1::2]
    count = len(values)
    assert set(map(int, values >> np.uint64(60))) == {1, 14}  # ids inside, and whole words only
    for value in (1 << 60 | count + 2, 4 << 60, 12 << 60, 13 << 60 | len(stored) << 28, 15 << 60):
        for seed in (0, count - 1):
            assert not runs(changed(payload, SEEDS8, 2 * seed + 1, value, "<u8"))
    for at in range(len(stored)):  # an id, how many follow, ids
        assert not runs(changed(payload, SEED_IDS, at, 1 << 20))
        assert not runs(changed(payload, SEED_IDS, at, NONE))


def test_numbers_that_lead_nowhere_are_refused(payloads: dict[str, bytes]) -> None:
    payload = payloads["bytes"]
    for number, kind in ((OFFSETS, "<u8"), (INDEX, "<u4"), (EXTERNAL, "<u4")):
        for value in (BEYOND, 1 << 31, (1 << 8 * np.dtype(kind).itemsize) - 2):
            assert not runs(changed(payload, number, -2, value, kind)), (number, value)
    assert not runs(changed(payload, PAIRS, 3, 1 << 30 | 0xFFFFF, "<u8"))
    assert not runs(changed(payload, SURE_PAIRS, 3, 0xFFFFE, "<u8"))
    assert not runs(changed(payload, SCALARS, 11, 1))  # sums over a whole text


def test_damage_anywhere_is_refused_or_harmless(payloads: dict[str, bytes]) -> None:
    generator = random.Random(5)  # noqa: S311
    outcomes = set()
    for payload in payloads.values():
        tables = [number for number in range(SCALARS, CHAR_VALUES + 1) if has(payload, number)]
        for _ in range(150):
            number = generator.choice(tables)
            value = generator.choice([0, NONE, BEYOND, generator.getrandbits(32)])
            outcomes.add(runs(changed(payload, number, generator.getrandbits(24), value)))
    assert outcomes == {True, False}


def has(payload: bytes, number: int) -> bool:
    try:
        return section(payload, number).size >= 4
    except AssertionError:
        return False
