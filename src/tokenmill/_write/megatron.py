"""`megatron`: `.bin` and `.idx` for Megatron-LM and NeMo; a row is a document."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._write.body import BodyFormat, IdRange, file_size, read_head, table
from tokenmill._write.format import check_row_length, check_signed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokenmill._pack.rows import ShardShape
    from tokenmill._write.format import Extras

MAGIC = b"MMIDIDX\x00\x00"
HEAD = struct.Struct("<9sQBQQ")  # magic, version, number type, sequences, documents + 1
CODES = {"uint16": 8, "int32": 4}  # the format has no uint32


class Megatron(BodyFormat):
    """`shard-00000.bin`: ids; `shard-00000.idx`: lengths, byte offsets, borders of documents."""

    name = "megatron"
    default_pack = "none"
    suffixes = (".bin", ".idx")

    def stored_dtype(self, dtype: str) -> np.dtype[Any]:
        """Store ids that do not fit uint16 as int32."""
        return np.dtype("<u2" if dtype == "uint16" else "<i4")

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse what int32 cannot hold: ids, and lengths of documents."""
        super().check(shape, max_id)
        check_signed(self.name, max_id)
        check_row_length(self.name, self.stored_lengths(shape))

    def side_files(self, shape: ShardShape, extras: Extras) -> Iterable[Iterable[Any]]:
        """Write the index."""
        del extras
        yield self._index_buffers(shape)

    def _index_buffers(self, shape: ShardShape) -> Iterable[Any]:
        dtype = self.stored_dtype(shape.dtype)
        lengths = self.stored_lengths(shape)
        yield HEAD.pack(MAGIC, 1, CODES[dtype.name], shape.rows, shape.rows + 1)
        yield lengths.astype("<i4")
        yield ((np.cumsum(lengths) - lengths) * dtype.itemsize).astype("<i8")
        yield np.arange(shape.rows + 1, dtype="<i8")

    def locate(self, paths: list[Path], dtype: str) -> IdRange:
        """Read the index."""
        index = paths[1]
        magic, version, code, rows, documents = HEAD.unpack(read_head(index, HEAD.size))
        stored = self.stored_dtype(dtype)
        if magic != MAGIC or version != 1 or code != CODES[stored.name]:
            raise CorruptShard(f"not an index of {stored.name} ids", path=index)
        size = HEAD.size + 12 * rows + 8 * documents
        if file_size(index) != size:
            raise CorruptShard(f"expected {size} bytes, got {file_size(index)}", path=index)
        lengths = table(index, "<i4", HEAD.size, rows)
        return IdRange(stored, 0, int(lengths.sum(dtype=np.int64)))
