"""All rows of an output, read once: how often each id occurs, and bytes and a hash by document.

The hash of a document is a sum over its tokens of a mix of id and position. So pieces may come in
any order and from several threads, and where a document was cut does not matter.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._mill.output.stored import RowReader
from tokenmill._mill.report.per_document import per_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tokenmill._mill.output.stored import StoredShard
    from tokenmill._pack.rows import Rows

_MIX = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))
_POSITION = np.uint64(0xD1342543DE82EF95)
_BATCHES = 64  # of rows in a shard that a sample may choose from


class DocumentSums:
    """Two numbers for each document: its hash, and how many of its tokens are in rows."""

    def __init__(self, documents: int) -> None:
        self._lock = threading.Lock()
        self.hashes = per_document(documents, np.uint64)
        self.stored = per_document(documents, np.int64)

    def add(
        self,
        documents: NDArray[np.int64],
        hashes: NDArray[np.uint64],
        lengths: NDArray[np.int64],
    ) -> None:
        """Add pieces."""
        with self._lock:
            np.add.at(self.hashes, documents, hashes)
            np.add.at(self.stored, documents, lengths)


@dataclass
class ScanTotals:
    """What the rows hold; `text_bytes` and `tokens` are by group of documents."""

    counts: NDArray[np.int64]  # of each id, without padding and repeats
    text_bytes: NDArray[np.int64]
    tokens: NDArray[np.int64]
    rows: int = 0
    documents_in_rows: int = 0  # pieces, counted once in each row

    def merge(self, other: ScanTotals) -> None:
        """Add what another thread has counted."""
        self.counts += other.counts
        self.text_bytes += other.text_bytes
        self.tokens += other.tokens
        self.rows += other.rows
        self.documents_in_rows += other.documents_in_rows


@dataclass(frozen=True)
class RowScan:
    """Scans shards. `group_of` are the groups of documents, `token_bytes` the length of each id."""

    group_of: NDArray[Any]
    groups: int
    token_bytes: NDArray[np.int64]
    overlap: int
    share: float = 1.0  # of the rows: a sample leaves documents incomplete
    sums: DocumentSums | None = None  # filled if it is there

    def run(
        self, shards: Sequence[StoredShard], workers: int, note: Callable[[int], None]
    ) -> ScanTotals:
        """Scan all shards; `note` gets the rows that are done, one batch at a time."""
        total = self._zero()
        firsts = _first_rows(shards)
        with ThreadPoolExecutor(max(1, workers)) as pool:
            jobs = [
                pool.submit(self._shard, shard, first, note)
                for shard, first in zip(shards, firsts, strict=True)
            ]
            try:
                for job in jobs:
                    total.merge(job.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return total

    def _zero(self) -> ScanTotals:
        zero = np.zeros(self.groups, np.int64)
        return ScanTotals(np.zeros(len(self.token_bytes), np.int64), zero, zero.copy())

    def _shard(self, shard: StoredShard, first: int, note: Callable[[int], None]) -> ScanTotals:
        total = self._zero()
        reader = RowReader(shard, scanned_format(shard))
        for begin, end in self._ranges(shard):
            row = first + begin
            for rows in reader.rows(begin, end):
                self._rows(rows, row, total)
                row += rows.pieces.rows
                note(rows.pieces.rows)
        return total

    def _ranges(self, shard: StoredShard) -> Iterator[tuple[int, int]]:
        """Yield the rows that are read: all of them, or some batches far apart."""
        if self.share >= 1:
            yield 0, shard.rows
            return
        size = max(1, shard.rows // _BATCHES)
        step = max(1, round(1 / self.share))
        # The shard's number decides where to begin, so small shares do not always take the start.
        for begin in range(shard.number % step * size, shard.rows, step * size):
            yield begin, min(begin + size, shard.rows)

    def _rows(self, rows: Rows, first_row: int, total: ScanTotals) -> None:
        ids, documents, begins, lengths = _without_repeats(rows, first_row, self.overlap)
        total.rows += rows.pieces.rows
        total.documents_in_rows += len(rows.pieces.documents)
        if not len(ids):
            return
        total.counts += np.bincount(ids, minlength=len(total.counts))
        starts = np.cumsum(lengths) - lengths
        sizes = np.add.reduceat(self.token_bytes[ids], starts)
        group = self.group_of[documents]
        np.add.at(total.text_bytes, group, sizes)
        np.add.at(total.tokens, group, lengths)
        if self.sums is not None:
            hashes = piece_hashes(ids, starts, begins, lengths)
            self.sums.add(documents, hashes, lengths)


def scanned_format(shard: StoredShard) -> str:
    """Return the format that is quickest to read: one that can be mapped, if there is one."""
    quick = ("bin", "npy", "megatron", "datatrove", "olmo", "llmc")
    return next((name for name in quick if name in shard.formats), next(iter(shard.formats)))


def _first_rows(shards: Sequence[StoredShard]) -> list[int]:
    """Return, for each shard, how many rows of its split are before it."""
    seen: dict[str, int] = {}
    firsts = []
    for shard in shards:
        firsts.append(seen.get(shard.split, 0))
        seen[shard.split] = firsts[-1] + shard.rows
    return firsts


def _without_repeats(
    rows: Rows, first_row: int, overlap: int
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return ids and pieces; every row except the first of a split repeats `overlap` tokens."""
    ids, pieces = rows.ids, rows.pieces
    if not overlap:
        return ids, pieces.documents, pieces.begins, pieces.lengths
    row_of = np.repeat(np.arange(pieces.rows), np.diff(pieces.row_pieces))
    ends = np.cumsum(pieces.lengths)
    row_starts = np.concatenate((np.zeros(1, np.int64), ends))[pieces.row_pieces[:-1]]
    column = ends - pieces.lengths - row_starts[row_of]
    gone = np.clip(overlap - column, 0, pieces.lengths)
    gone[row_of + first_row == 0] = 0
    kept = np.repeat(gone, pieces.lengths) <= _positions(pieces.lengths)
    some = pieces.lengths > gone
    return (
        ids[kept],
        pieces.documents[some],
        (pieces.begins + gone)[some],
        (pieces.lengths - gone)[some],
    )


def _positions(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, 2 ... for each piece, one after another."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) - np.repeat(starts, lengths)


def piece_hashes(
    ids: NDArray[Any],
    starts: NDArray[np.int64],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> NDArray[np.uint64]:
    """Return the sum of the mixed tokens of each piece; ids are one piece after another."""
    positions = np.arange(len(ids)) + np.repeat(begins - starts, lengths)
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * _MIX[0]
    mixed += positions.view(np.uint64) * _POSITION
    for shift, factor in ((np.uint64(30), _MIX[1]), (np.uint64(27), _MIX[2])):
        mixed ^= mixed >> shift
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
    return np.asarray(np.add.reduceat(mixed, starts))
