"""What the boundary kernels must find, by the real engines and by plain Python."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.reference.split import FancyWords
from tests.split.patterns import CHAINS, DIGITS
from tokenizers import Regex
from tokenizers.pre_tokenizers import Digits, Sequence, Split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Words = list[str] | list[bytes]
    Splitter = Callable[[str], Words]


def splitter(name: str, texts: list[str]) -> Splitter:
    """Return the engine that a chain of stages is written for, as a function of the text."""
    stages = CHAINS[name]
    pattern, dialect, behavior, invert = stages[-1]
    if dialect == "fancy":
        assert len(stages) == 1
        every = {t[i:j] for t in texts for i in range(len(t)) for j in range(i + 1, len(t) + 1)}
        return FancyWords(pattern, sorted(every))

    chain: list[Any] = [Split(Regex(pattern), behavior, invert)]
    if stages[0] == DIGITS:
        chain.insert(0, Digits(individual_digits=True))
    engine = Sequence(chain)
    return lambda text: [word for word, _ in engine.pre_tokenize_str(text)]


def start_bits(split: Splitter, texts: list[str]) -> NDArray[np.uint8]:
    """A number a byte of all texts: 1 where a word begins."""
    rows = []
    for text in texts:
        row = np.zeros(len(text.encode()), dtype=np.uint8)
        at = 0
        for word in split(text):
            row[at] = 1
            at += len(word.encode() if isinstance(word, str) else word)
        assert at == len(row)
        rows.append(row)
    return np.concatenate(rows)


def cut_bits(facts: Mapping[str, Any], texts: list[str]) -> NDArray[np.uint8]:
    """1 where two neighbours of three bytes may be torn apart, in all texts."""
    joined = junctions(facts)
    rows = []
    for text in texts:
        row = np.zeros(len(text.encode()), dtype=np.uint8)
        at = len(text[:1].encode())
        for left, right in pairwise(text):
            sizes = len(left.encode()), len(right.encode())
            row[at : at + 1] = sizes == (3, 3) and not joined(ord(left), ord(right))
            at += sizes[1]
        rows.append(row)
    return np.concatenate(rows)


def junctions(facts: Mapping[str, Any]) -> Callable[[int, int], bool]:
    """The filter of core/vocab/junction.h, by its tables."""
    words, flags = facts["junction_words"].tolist(), facts["junction_flags"].tolist()
    parts = set(facts["junction_parts"].tolist())

    @cache
    def joined(left: int, right: int) -> bool:
        pair = left << 16 | right
        word = words[(pair * 0x9E3779B1 & 0xFFFFFFFF) >> 18]
        bits = (pair * 0x85EBCA6B & 0xFFFFFFFF) >> 22
        if word >> (bits & 31) & word >> (bits >> 5) & 1:
            return True
        contexts = flags[left] & flags[right] >> 4
        x, y = chr(left).encode(), chr(right).encode()
        for i in range(3):
            for j in range(1, 4):
                kind = 4 if i and j < 3 else 2 if i else 1 if j < 3 else 0
                key = int.from_bytes(x[i:], "little") << 32 | int.from_bytes(y[:j], "little")
                if contexts & kind and key in parts:
                    return True
        return False

    return joined
