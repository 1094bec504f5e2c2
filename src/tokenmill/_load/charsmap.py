"""The compiled character map of a SentencePiece file, and whether it is sound.

It is a double-array trie over the bytes of the keys, then the values, each ended by a zero byte.
A unit of the trie has 32 bits:

    leaf   1vvv vvvv vvvv vvvv vvvv vvvv vvvv vvvv   v: where the value of the key begins

    inner  0ooo oooo oooo oooo oooo oosl bbbb bbbb   b: the label that leads here, o: the offset,
                                                     l: it has a leaf, s: o counts 256 times

The children of unit ``i`` are at ``i ^ offset ^ label``, its leaf at ``i ^ offset``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokenmill._load.protobuf import damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAF = np.uint32(1 << 31)
_HAS_LEAF = np.uint32(1 << 8)
_BLOCK = 1024


def check_charsmap(blob: bytes, offset: int) -> list[str]:
    """Check that every look-up stays inside; return what keeps the engine from using the map.

    `offset` is where the blob begins in its file.
    """
    size = int.from_bytes(blob[:4], "little")
    if size < _BLOCK or size % _BLOCK or size >= len(blob) - 4:
        problem = f"expected a trie in blocks of {_BLOCK} bytes and values after it"
        raise damaged(f"charsmap: {problem}, got {size} of {len(blob)} bytes", offset)
    if blob[-1] != 0:
        raise damaged(f"charsmap: expected a zero byte at the end, got {blob[-1]}", offset)
    units = np.frombuffer(blob, dtype="<u4", count=size // 4, offset=4)
    values = blob[4 + size :]
    reached = _Walk(units, len(values))
    if not reached.is_sound():
        raise damaged("charsmap: expected a trie that stays inside its bounds", offset)
    reasons = _strange_values(values, reached.values)
    if reached.splits_characters:
        reasons.append("the character map has keys that end inside a character")
    return reasons


def _strange_values(values: bytes, used: NDArray[np.int64]) -> list[str]:
    """Report values that are not text, or that begin inside a character."""
    try:
        values.decode()
    except UnicodeDecodeError:
        return ["the character map has values that are not UTF-8"]
    first_bytes = np.frombuffer(values, dtype=np.uint8)[used]
    inside = bool(((first_bytes & 0xC0) == 0x80).any())  # noqa: PLR2004 -- continues a character
    return ["the character map has values that begin inside a character"] if inside else []


class _Walk:
    """Visits all units that a look-up can reach, one level of the trie after the other.

    Keys with the same end share its units, so a unit is visited once for each number of bytes that
    may be missing there to a whole character: 4 times the place plus that number is a state.
    """

    def __init__(self, units: NDArray[np.uint32], n_value_bytes: int) -> None:
        self._units = units
        self._n_value_bytes = n_value_bytes
        self.values = np.zeros(0, dtype=np.int64)
        self.splits_characters = False
        index = np.arange(len(units), dtype=np.int64)
        labels = (units & 0xFF).astype(np.int64)
        # A unit is a child of those that have this base. No key has a zero byte.
        bases_of_parents = np.where(((units & _LEAF) == 0) & (labels != 0), index ^ labels, -1)
        self._order = np.argsort(bases_of_parents, kind="stable")
        self._sorted = bases_of_parents[self._order]

    def is_sound(self) -> bool:
        """Walk; False where a look-up would leave the trie or the values."""
        seen = np.zeros(4 * len(self._units), dtype=bool)
        states = np.zeros(1, dtype=np.int64)
        while len(states):
            seen[states] = True
            places, missing = states >> 2, states & 3
            bases = places ^ _offsets(self._units[places])
            if (bases | 0xFF).max() >= len(self._units):
                return False
            has_leaf = (self._units[places] & _HAS_LEAF) != 0
            if not self._take_leaves(bases[has_leaf]):
                return False
            self.splits_characters |= bool((has_leaf & (missing != 0)).any())
            following = self._next_states(bases, missing)
            states = following[~seen[following]]
        return True

    def _take_leaves(self, places: NDArray[np.int64]) -> bool:
        leaves = self._units[places]
        if not ((leaves & _LEAF) != 0).all():
            return False
        values = (leaves & ~_LEAF).astype(np.int64)
        self.values = np.concatenate([self.values, values])
        return not len(values) or int(values.max()) < self._n_value_bytes

    def _next_states(
        self, bases: NDArray[np.int64], missing: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        # One parent of each kind is enough: they all have the same children.
        bases, missing = np.divmod(np.unique(bases * 4 + missing), 4)
        first = np.searchsorted(self._sorted, bases, side="left")
        counts = np.searchsorted(self._sorted, bases, side="right") - first
        parents = np.repeat(np.arange(len(bases)), counts)
        within = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
        children = self._order[first[parents] + within]
        labels = self._units[children] & 0xFF
        # By its first byte, a character has none to three more.
        more = np.select([labels < 0xC0, labels < 0xE0, labels < 0xF0], [0, 1, 2], 3)  # noqa: PLR2004
        before = missing[parents]
        return np.unique(children * 4 + np.where(before > 0, before - 1, more))


def _offsets(units: NDArray[np.uint32]) -> NDArray[np.int64]:
    offsets = (units >> np.uint32(10)) << ((units & np.uint32(1 << 9)) >> np.uint32(6))
    wide: NDArray[np.int64] = offsets.astype(np.int64)
    return wide
