"""`llmc`: a header of 256 int32 and then ids, for llm.c and modded-nanogpt."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tokenmill._errors import CorruptShard
from tokenmill._write.body import BodyFormat, IdRange, read_head
from tokenmill._write.format import check_size

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._pack.rows import ShardShape

HEAD_BYTES = 1024
FLAVOURS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}  # magic number, version
LIMIT = 1 << 31  # its loader seeks with an int


class LlmC(BodyFormat):
    """`tokens_train_000000.bin`: [0] magic, [1] version, [2] count of ids."""

    name = "llmc"

    def file_names(self, shard: int, split: str = "") -> tuple[str, ...]:
        """Return the name in the style of llm.c, with the split in it."""
        return (f"tokens_{split or 'train'}_{shard:06d}.bin",)

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse files of 2 GiB and more."""
        super().check(shape, max_id)
        size = HEAD_BYTES + self.stored_ids(shape) * shape.item_size
        check_size(self.name, "bytes", size, LIMIT)

    def head(self, shape: ShardShape) -> bytes:
        """Return the 1,024 bytes before the ids."""
        magic, version = FLAVOURS[shape.dtype]
        return struct.pack("<3i", magic, version, self.stored_ids(shape)).ljust(HEAD_BYTES, b"\0")

    def locate(self, paths: list[Path], dtype: str) -> IdRange:
        """Read the head."""
        magic, version, count = struct.unpack_from("<3i", read_head(paths[0], HEAD_BYTES))
        if (magic, version) != FLAVOURS[dtype] or count < 0:
            raise CorruptShard(
                f"not a header of {dtype} ids: {magic}, {version}, {count}", path=paths[0]
            )
        return IdRange(self.stored_dtype(dtype), HEAD_BYTES, count)
