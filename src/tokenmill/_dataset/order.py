"""The order of rows, and which rank reads them: closed forms, so that any place can be resumed.

Nothing here holds a list of rows. A shuffled order is a keyed bijection, a mixture repeats one
block of choices under new bijections, and the share of a rank is arithmetic.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Remainder: TypeAlias = Literal["uneven", "drop", "repeat"]
REMAINDERS: tuple[Remainder, ...] = ("uneven", "drop", "repeat")
_SMALL = 1 << 12
_ROUNDS = 6
_MIX_BLOCK = 1 << 16


class Permutation:
    """A bijection of 0 .. size that depends only on the key, without a list if it is large.

    Above 4096 it is a Feistel network over the next power of two: the number is split into two
    halves, and each round adds a hash of one half to the other. Numbers that fall outside are sent
    through again until they are inside, which keeps it a bijection and takes less than two passes
    on average.
    """

    def __init__(self, size: int, *key: int) -> None:
        self._size = size
        words = hashlib.blake2b(repr(key).encode(), digest_size=8 * _ROUNDS).digest()
        self._keys = np.frombuffer(words, "<u8")
        bits = max(size - 1, 1).bit_length()
        self._right_bits = np.uint64(bits - bits // 2)
        self._left_mask = np.uint64((1 << bits // 2) - 1)
        self._right_mask = np.uint64((1 << (bits - bits // 2)) - 1)
        self._table: NDArray[np.int64] | None = None
        if size <= _SMALL:
            hashes = _hash(np.arange(size, dtype=np.uint64) + self._keys[0])
            self._table = np.argsort(hashes, kind="stable").astype(np.int64)

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers at these places."""
        if self._table is not None:
            return self._table[places]
        numbers = self._once(places.astype(np.uint64))
        while (outside := np.flatnonzero(numbers >= self._size)).size:
            numbers[outside] = self._once(numbers[outside])
        return numbers.astype(np.int64)

    def _once(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left: NDArray[np.uint64] = numbers >> self._right_bits
        right: NDArray[np.uint64] = numbers & self._right_mask
        for even, odd in zip(self._keys[::2], self._keys[1::2], strict=True):
            left = left ^ (_hash(right + even) & self._left_mask)
            right = right ^ (_hash(left + odd) & self._right_mask)
        return np.asarray(left << self._right_bits | right)


def _hash(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of 64-bit numbers: multiply and fold, three times, with overflow."""
    mixed = numbers
    for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        mixed = mixed * np.uint64(factor)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed


@dataclass(frozen=True)
class Share:
    """What one rank reads of an epoch of `rows` rows, in units of `batch` rows.

    Step `t` of all ranks together starts at place `t * ranks * batch`; rank `r` reads the `r`-th
    `batch` of it. `remainder` decides about the last places, if they are too few for a step:
    "uneven" divides them as evenly as possible, so that every row is read exactly once and one
    rank may have a unit more than another; "drop" leaves them out; "repeat" adds the first places
    of the epoch until every rank has a whole unit.
    """

    rows: int
    batch: int
    rank: int
    ranks: int
    remainder: Remainder

    @property
    def units(self) -> int:
        """How many units this rank reads."""
        steps, left = divmod(self.rows, self.ranks * self.batch)
        if self.remainder == "drop" or left == 0:
            return steps
        return steps + (self.remainder == "repeat" or len(self._last(left)) > 0)

    def places(self, unit: int) -> NDArray[np.int64]:
        """Return the places of a unit in the epoch's order."""
        step = self.ranks * self.batch
        begin = unit * step
        if self.rows - begin < step and self.remainder == "uneven":
            return begin + self._last(self.rows - begin)
        return (begin + self.rank * self.batch + np.arange(self.batch)) % max(self.rows, 1)

    def _last(self, left: int) -> NDArray[np.int64]:
        first, end = (left * r // self.ranks for r in (self.rank, self.rank + 1))
        return np.arange(first, end)


class Mixture:
    """An endless sequence of rows of several sources, in the proportion of their weights.

    It consists of blocks of 65,536 places. In each block a source has the same number of places,
    the nearest to its weight but at least one; which places is drawn again for every block. All
    rows of a source are read before any is repeated, each time in another order.
    """

    def __init__(
        self, sizes: Sequence[int], weights: Sequence[float], seed: int, *, shuffle: bool
    ) -> None:
        if len(weights) != len(sizes) or not all(0 < w < float("inf") for w in weights):
            problem = f"expected {len(sizes)} numbers above 0, one for each source"
            raise OptionError(f"{problem}, got {list(weights)}", where="weights")
        if min(sizes) == 0:
            raise OptionError("expected rows in every source, got one without", where="weights")
        self._sizes = np.array(sizes, np.int64)
        self._firsts = np.cumsum(self._sizes) - self._sizes
        self._quotas = _quotas(weights)
        self._seed = seed
        self._shuffle = shuffle
        self._last_block: tuple[int, NDArray[np.int64], NDArray[np.int64]] | None = None

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows at these places, numbered through all sources."""
        rows = np.empty(len(places), np.int64)
        blocks, slots = np.divmod(places, _MIX_BLOCK)
        for block in np.unique(blocks).tolist():
            here = np.flatnonzero(blocks == block)
            sources, turns = self._block(block)
            rows[here] = self._rows_at(sources[slots[here]], turns[slots[here]])
        return rows

    def _block(self, block: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the source at each place of a block, and how often it appeared before."""
        if self._last_block is None or self._last_block[0] != block:
            drawn = Permutation(_MIX_BLOCK, self._seed, block, -1)(np.arange(_MIX_BLOCK))
            sources = np.searchsorted(np.cumsum(self._quotas), drawn, side="right")
            turns = np.empty(_MIX_BLOCK, np.int64)
            for source, quota in enumerate(self._quotas.tolist()):
                turns[sources == source] = np.arange(block * quota, (block + 1) * quota)
            self._last_block = (block, sources, turns)
        return self._last_block[1:]

    def _rows_at(self, source: NDArray[np.int64], turn: NDArray[np.int64]) -> NDArray[np.int64]:
        passes, row = np.divmod(turn, self._sizes[source])
        if self._shuffle:
            by_pass = np.lexsort((passes, source))
            new = np.diff(source[by_pass]) | np.diff(passes[by_pass])
            for here in np.split(by_pass, np.flatnonzero(new) + 1):
                one, again = int(source[here[0]]), int(passes[here[0]])
                row[here] = Permutation(int(self._sizes[one]), self._seed, again, one)(row[here])
        rows: NDArray[np.int64] = self._firsts[source] + row
        return rows


def _quotas(weights: Sequence[float]) -> NDArray[np.int64]:
    """Divide a block by weight: whole numbers, each at least 1, by largest remainder."""
    exact = np.array(weights, np.float64) / np.sum(weights) * _MIX_BLOCK
    quotas: NDArray[np.int64] = np.maximum(np.floor(exact), 1).astype(np.int64)
    while (missing := _MIX_BLOCK - int(quotas.sum())) != 0:
        at = np.argmax(exact - quotas if missing > 0 else quotas)
        quotas[at] += np.sign(missing)
    return quotas
