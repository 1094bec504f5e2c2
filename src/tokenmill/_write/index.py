"""Our own index of a shard, the same for every format: rows, pieces, documents.

Little-endian: a header of 64 bytes, then five tables of int64 that can be mapped into memory:
row offsets [rows + 1] in tokens without padding, row pieces [rows + 1], and for each piece its
length, its document and where in the document it starts.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from tokenmill._errors import CorruptShard
from tokenmill._files import NewFile
from tokenmill._pack.rows import Pieces
from tokenmill._write.body import file_size, read_head
from tokenmill._write.format import stem

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._files import FileRecord

MAGIC = b"MILLROWS"
VERSION = 1
HEAD = struct.Struct("<8sQQQQ24x")  # magic, version, rows, pieces, xxh3-64 of the tables


@dataclass(frozen=True)
class ShardIndex:
    """The borders of a shard's rows and pieces, as views of a mapped file."""

    row_offsets: NDArray[np.int64]  # in tokens, without padding
    row_pieces: NDArray[np.int64]
    lengths: NDArray[np.int64]
    documents: NDArray[np.int64]
    begins: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """How many rows the shard has."""
        return len(self.row_pieces) - 1

    @property
    def tokens(self) -> int:
        """How many tokens the shard has, without padding."""
        return int(self.row_offsets[-1])

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """The tokens in each row, without padding."""
        return np.diff(self.row_offsets)

    @property
    def pieces(self) -> Pieces:
        """The pieces, as they were packed."""
        return Pieces(self.documents, self.begins, self.lengths, self.row_pieces)


def index_name(shard: int, split: str = "") -> str:
    """Name the index of a shard: of shard 3 -> "shard-00003.rows"."""
    return stem(shard, split) + ".rows"


def write_index(path: Path, pieces: Pieces) -> FileRecord:
    """Write the index of a shard."""
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(pieces.lengths)))
    numbers = (
        ends[pieces.row_pieces],
        pieces.row_pieces,
        pieces.lengths,
        pieces.documents,
        pieces.begins,
    )
    tables = [np.ascontiguousarray(part, "<i8") for part in numbers]
    file = NewFile(path)
    try:
        file.write(HEAD.pack(MAGIC, VERSION, pieces.rows, len(pieces.lengths), _digest(tables)))
        for part in tables:
            file.write(part)
        return file.commit()
    except BaseException:
        file.discard()
        raise


def read_index(path: Path, *, check: bool = True) -> ShardIndex:
    """Map an index into memory; `check` reads all of it and compares its checksum."""
    magic, version, rows, pieces, digest = HEAD.unpack(read_head(path, HEAD.size))
    if magic != MAGIC:
        raise CorruptShard("not the index of a shard", path=path)
    if version != VERSION:
        raise CorruptShard(
            f"expected version {VERSION}, got {version}", path=path, hint="update tokenmill"
        )
    counts = (rows + 1, rows + 1, pieces, pieces, pieces)
    size = HEAD.size + 8 * sum(counts)
    if file_size(path) != size:
        raise CorruptShard(f"expected {size} bytes, got {file_size(path)}", path=path)
    # A plain array: slices of a memmap object cost several times as much.
    whole = np.asarray(np.memmap(path, "<i8", "r", HEAD.size, (sum(counts),)))
    tables = np.split(whole, np.cumsum(counts)[:-1])
    if check and _digest([whole]) != digest:
        raise CorruptShard("the checksum differs", path=path)
    return ShardIndex(*tables)


def _digest(tables: list[Any]) -> int:
    digest = xxhash.xxh3_64()
    for part in tables:
        digest.update(part)
    return int(digest.intdigest())
