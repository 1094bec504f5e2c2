"""Tables for vocabularies over characters: which neighbours tokens join, and what is in front.

Such tokenizers write blanks as a marker (U+2581). The compiled model has its tokens with blanks, so
that the text stays as it is; only text that holds a marker needs the normalizer.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenmill._cuda.added_texts import added_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

MARKER = "\u2581"
_ID_BITS = 20
_REPLACE, _PREPEND = 8, 9  # normalize::StepKind
_CODES = 0x110000
_CONTROLS = 32  # bytes below are control characters
_PLAIN = 0  # flags of an added token that is found anywhere in the raw text, and is not special


class BlankSteps(NamedTuple):
    """What a normalizer does with blanks."""

    in_front: int  # 0: nothing, 1: a blank before every text, 2: before texts without one


class AddedRuns(NamedTuple):
    """Added tokens that are runs of one byte, and that merging makes as well.

    `longest`: for each such byte, which is a control character, the length of its longest token.
    The kernels leave documents with longer runs than `limit` to the CPU.
    """

    longest: dict[int, int]

    @property
    def limit(self) -> int:
        """The length up to which the runs of all bytes are tokens; 0 if there are none."""
        return min((size for size in self.longest.values() if size > 1), default=0)

    @property
    def mask(self) -> int:
        """A bit for every byte whose runs have a limit."""
        return sum(1 << byte for byte, size in self.longest.items() if size > 1)

    @property
    def texts(self) -> set[bytes]:
        """The added tokens that the kernels need not look for."""
        return {
            bytes([byte]) * count
            for byte, size in self.longest.items()
            for count in range(1, size + 1)
        }


def blank_steps(facts: Mapping[str, Any]) -> BlankSteps | None:
    """Return what the normalizer does, or None if it does more than that."""
    texts = _literals(facts["normalizer"])
    to_blanks = (_REPLACE, MARKER.encode(), b" ")
    if texts is None or facts["has_respelling"]:
        return None
    prefix = facts["prefix_space"]
    if texts in ([], [to_blanks]) and prefix in (0, 2):
        return BlankSteps(prefix)
    if texts == [to_blanks, (_PREPEND, b" ")] and prefix == 0:
        return BlankSteps(1)
    return None


def _literals(program: bytes) -> list[tuple[Any, ...]] | None:
    """Read a serialized normalizer that only replaces and prepends texts, or return None."""
    steps: list[tuple[Any, ...]] = []
    at = 0
    while at < len(program):
        kind, count = program[at], {_REPLACE: 2, _PREPEND: 1}.get(program[at])
        if count is None:
            return None
        texts, at = [], at + 1
        for _ in range(count):
            size = int.from_bytes(program[at : at + 4], "little")
            texts.append(program[at + 4 : at + 4 + size])
            at += 4 + size
        steps.append((kind, *texts))
    return steps


def joined_pairs(facts: Mapping[str, Any], runs: AddedRuns) -> NDArray[np.uint32]:
    """Return a bit for every two characters, by their first bytes: whether a token may hold both.

    The layout is that of char_bounds.h. Added tokens are cut out of the text, so nothing joins
    them, whatever the vocabulary holds.
    """
    data, reachable = facts["token_bytes"], facts["token_reachable"] != 0
    sizes = np.diff(facts["token_offsets"].astype(np.int64))
    token = np.repeat(np.arange(sizes.size), sizes)
    leads = np.flatnonzero(((data & 0xC0) != 0x80) & reachable[token])  # noqa: PLR2004
    left, right = leads[:-1], leads[1:]
    inside = token[left] == token[right]
    joined = np.zeros((256, 256), dtype=bool)
    joined[data[left[inside]], data[right[inside]]] = True
    for byte, longest in runs.longest.items():
        joined[byte, :] = joined[:, byte] = False
        joined[byte, byte] = longest > 1
    # [left, right] -> [right / 32, left], bit right % 32
    bits = np.packbits(joined, axis=1, bitorder="little").view(np.uint32)
    return np.ascontiguousarray(bits.T).reshape(-1)


def added_runs(facts: Mapping[str, Any]) -> AddedRuns:
    """Find the added tokens that are runs of a byte and need no search.

    All runs of the byte from 1 on must be tokens, which are found anywhere in raw text. Merging a
    run must make the same token, and nothing may come between texts that differs next to one.
    """
    steps = blank_steps(facts)
    if steps is None or steps.in_front:
        return AddedRuns({})
    every = added_texts(facts)
    added = {text: number for text, number, flags in every if flags == _PLAIN}
    longest = {}
    for byte in range(_CONTROLS):
        size = 0
        while bytes([byte]) * (size + 1) in added:
            size += 1
        # Any other token with the byte in it may be longer than a run, or start inside of one.
        with_byte = [text for text, _, _ in every if byte in text]
        if size and len(with_byte) == size and _merges_alike(facts, added, byte, size):
            longest[byte] = size
    return AddedRuns(longest)


def marker_bits() -> NDArray[np.uint32]:
    """Return a bit for every code point, set for the one that the normalizer replaces."""
    bits = np.zeros(_CODES, np.uint8)
    bits[ord(MARKER)] = 1
    return np.packbits(bits, bitorder="little").view(np.uint32)


def _merges_alike(
    facts: Mapping[str, Any], added: Mapping[bytes, int], byte: int, size: int
) -> bool:
    """Whether merging runs of up to `size` makes the added tokens."""
    symbol = int(facts["char_symbols"][byte])
    if symbol >= (1 << _ID_BITS) - 1:
        return False
    pairs = _pairs_within(facts, byte)
    for count in range(1, size + 1):
        left = [symbol] * count
        while True:
            ranks = [pairs.get(pair, 1 << _ID_BITS) for pair in itertools.pairwise(left)]
            if not ranks or min(ranks) == 1 << _ID_BITS:
                break
            at = ranks.index(min(ranks))
            left[at : at + 2] = [ranks[at]]
        ids = [int(facts["external"][number]) for number in left]
        if ids != [added[bytes([byte]) * count]]:
            return False
    return True


def _pairs_within(facts: Mapping[str, Any], byte: int) -> dict[tuple[int, int], int]:
    """Return the merges whose token is a run of a byte."""
    data, offsets = facts["token_bytes"], facts["token_offsets"].astype(np.int64)
    others = np.concatenate([[0], np.cumsum(data != byte)])
    is_run = (others[offsets[1:]] == others[offsets[:-1]]) & (offsets[1:] > offsets[:-1])
    slots = facts["pair_slots"]
    slots = slots[slots != 0].astype(np.int64)
    mask = (1 << _ID_BITS) - 1
    slots = slots[is_run[facts["external"][slots & mask]]]
    lefts, rights = (slots >> 2 * _ID_BITS) - 1, slots >> _ID_BITS & mask
    keys = zip(lefts.tolist(), rights.tolist(), strict=True)
    return dict(zip(keys, (slots & mask).tolist(), strict=True))
