"""Facts about composing: what may change, and what stays next to anything."""

from __future__ import annotations

import random
import unicodedata

import numpy as np

from tokenmill import _core
from tokenmill._cuda.normal import (
    CHANGED,
    MAYBE,
    composing_pairs,
    normal_tables,
    pair_hash,
    unsafe_bits,
)


def facts_of(code: int) -> int:
    tables = normal_tables()
    page = int(tables["normal_page_of"][code >> 8])
    return int(tables["normal_pages"][page << 8 | code & 255])


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


def test_facts_of_characters() -> None:
    assert facts_of(ord("a")) == facts_of(0xAC00) == 0
    assert facts_of(0x0E48) == 107  # a Thai tone: it has a class, and never composes
    assert facts_of(0x0301) == 230 | MAYBE
    assert facts_of(0x09BE) == MAYBE
    assert facts_of(0x0958) == facts_of(0x1161) == facts_of(0x0378) == CHANGED
    changed = [code for code in range(0x110000) if facts_of(code) & CHANGED]
    never = [c for c in range(0x110000) if not unicodedata.is_normalized("NFC", chr(c))]
    assert set(never) < set(changed)


def test_pairs_that_compose_are_all_found() -> None:
    pairs = set(composing_pairs())
    assert {(ord("e"), 0x301), (0xE9, 0x327), (0x9C7, 0x9BE)} < pairs  # one that composes later
    assert not pairs & {(ord("x"), 0x301), (0x915, 0x93C)}  # the composed letter is excluded
    tables = normal_tables()
    slots = tables["normal_pairs"]
    assert set(slots[slots != 0].tolist()) == {left << 32 | right for left, right in pairs}
    assert (slots == 0).any()
    for left, right in pairs:
        at = pair_hash(left, right) % slots.size
        while slots[at] != left << 32 | right:
            assert slots[at]
            at = (at + 1) % slots.size
    maybe = [code for code in range(0x110000) if facts_of(code) & MAYBE]
    starters = [c for c in range(0x20000) if not facts_of(c) & (CHANGED | 255)]
    for right in maybe:
        others = "".join(chr(c) + chr(right) for c in starters if (c, right) not in pairs)
        assert unicodedata.is_normalized("NFC", others)
        assert _core.normalize(b"\x01", others.encode()) == others.encode()  # another Unicode
