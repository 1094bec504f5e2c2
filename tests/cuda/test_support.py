"""Tokenizers that the kernels can run; their added tokens and normalizers."""

from __future__ import annotations

import random
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.conftest import small_definition
from tests.cuda.tokenizers_small import write

from tokenmill import DeviceError, Tokenizer, _core
from tokenmill._cuda.support import (
    added_prefixes,
    added_texts,
    check_support,
    packed_first_bytes,
    unsafe_bits,
)
from tokenmill.cuda import GpuTokenizer

if TYPE_CHECKING:
    from pathlib import Path


MUCH = ["hello world " * 1000] * 400  # more than `auto` leaves to the CPU


@pytest.fixture
def tokenizer(small_json: Path) -> Tokenizer:
    return Tokenizer.load(small_json)


def definition(**changes: Any) -> dict[str, Any]:
    return {**small_definition(), **changes}


BYTE_LEVEL = small_definition()["pre_tokenizer"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": {"type": "Lowercase"}}, "unsupported_normalizer"),
        ({"normalizer": {"type": "NFKC"}}, "unsupported_normalizer"),
        ({"pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True}}, "unsupported_normalizer"),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": False},
                {"type": "Punctuation", "behavior": "Isolated"}, BYTE_LEVEL]}},
            "unsupported_split",
        ),
    ],
)  # fmt: skip
def test_tokenizers_that_the_kernels_cannot_run(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    tokenizer = Tokenizer.load(write(tmp_path, definition(**changes)))
    with pytest.raises(DeviceError, match=tokenizer.name) as caught:
        GpuTokenizer(tokenizer)
    assert caught.value.reason == reason
    batch = tokenizer.encode_batch(MUCH, device="auto")
    assert str(batch.reason).startswith(f"{reason}: ")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [({"kind": 1}, "unsupported_model"), ({"has_ends": True}, "unsupported_model"),
     ({"has_ties": True}, "unsupported_model"), ({"rule": {"family": 4}}, "unsupported_split"),
     ({"rule": {"family": 0}, "stage_count": 3}, "unsupported_split")],
)  # fmt: skip
def test_models_that_the_kernels_cannot_run(
    tokenizer: Tokenizer, facts: dict[str, Any], reason: str
) -> None:
    own = tokenizer._model.device_tables()
    check_support(own, "here")
    with pytest.raises(DeviceError, match=r"^here: ") as caught:
        check_support({**own, **facts}, "here")
    assert caught.value.reason == reason


def safe_characters() -> str:
    unsafe = np.unpackbits(unsafe_bits().view(np.uint8), bitorder="little")
    assert unsafe.size == 0x110000
    return "".join(map(chr, np.flatnonzero(unsafe == 0)))


def test_text_of_safe_characters_is_composed_in_any_order() -> None:
    safe = safe_characters()
    assert len(safe) > 250_000
    assert {"a", "\u00e9", "\u4e2d", "\uac00", "\U0001f600"} < set(safe)
    order = random.Random(5)  # noqa: S311
    for text in (safe, safe[::-1], *("".join(order.sample(safe, len(safe))) for _ in range(3))):
        assert unicodedata.is_normalized("NFC", text)
        assert _core.is_normalized(b"\x01", text.encode())
        assert _core.normalize(b"\x01", text.encode()) == text.encode()


def test_what_may_change_or_compose_is_not_safe() -> None:
    safe = set(safe_characters())
    for code in range(0x110000):
        character = chr(code)
        if character in safe:
            assert unicodedata.combining(character) == 0
            parts = unicodedata.decomposition(character).split()
            if parts and not parts[0].startswith("<"):
                composed = "".join(chr(int(part, 16)) for part in parts)
                assert unicodedata.normalize("NFC", composed) == character
    assert not safe & {"\u0301", "\u1161", "\u11a8", "\u212b", "\u0340", "\u09be", "\U000110ba"}


def test_prefixes_of_added_tokens_are_few_and_catch_all_of_them(tokenizer: Tokenizer) -> None:
    facts = tokenizer._model.device_tables()
    for count in (1, 64, 65, 3000):
        texts = [f"<|{number:06d}|>".encode() for number in range(count)]
        first, prefixes, masks = added_prefixes([*texts, b""], facts)
        assert 1 <= prefixes.size <= 64
        for text in texts:
            begin = np.uint64(int.from_bytes(text[:8], "little"))
            assert ((begin & masks) == prefixes).any()
            assert first[text[0] >> 5] >> (text[0] & 31) & 1
    nothing = added_prefixes([], facts)
    assert nothing.added_prefixes.size == nothing.added_first.sum() == 0


def test_first_bytes_in_a_number() -> None:
    few = [b"<s>", b"<|x|>", b"[x", b"\xff"]
    for texts, wanted in (
        ([], 0),
        (few, 3 << 56 | 0xFF5B3C),
        ([bytes([byte]) for byte in range(7)], 7 << 56 | 0x06050403020100),
        ([bytes([byte]) for byte in range(8)], 8 << 56),
        ([bytes([byte]) for byte in range(256)], 255 << 56),
    ):
        first = np.zeros(256, np.uint8)
        first[[text[0] for text in texts]] = 1
        bits = np.packbits(first, bitorder="little").view(np.uint32)
        assert packed_first_bytes(bits) == wanted


def test_bytes_that_are_dropped_from_words_are_looked_for(tokenizer: Tokenizer) -> None:
    facts = dict(tokenizer._model.device_tables())
    external = facts["external"].copy()
    external[4] = 0xFFFF_FFFF
    found = added_prefixes([], {**facts, "drops_bytes": True, "external": external})
    assert found.added_prefixes.tolist() == [4]
    assert found.added_masks.tolist() == [0xFF]


def test_added_tokens_are_looked_for_raw_and_composed() -> None:
    meta = {"added_tokens": {"<e\u0301>": 1, "<s>": 2}, "special_tokens": {"<s>": 2}}
    found = added_texts(meta, {"normalizer": b"\x01"}, with_special=True)
    assert found == [b"<e\xcc\x81>", b"<s>", b"<\xc3\xa9>"]
    assert added_texts(meta, {"normalizer": b""}, with_special=False) == [b"<e\xcc\x81>"]
