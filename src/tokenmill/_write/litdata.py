"""`litdata`: chunks and an index.json, for the TokensLoader of litdata."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import xxhash

from tokenmill._errors import CorruptShard
from tokenmill._write.body import BodyFormat, IdRange, read_head
from tokenmill._write.format import check_size, in_split, write_indices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenmill._files import FileRecord
    from tokenmill._pack.rows import ShardShape
    from tokenmill._write.format import ShardFacts

HEAD = struct.Struct("<3I")  # one item, its start, its end
LIMIT = 1 << 32
CODES = {"uint16": 5, "uint32": 6}  # for the number types of NumPy
ONE_ARRAY = '[1, {"type": null, "context": null, "children_spec": []}]'


class LitData(BodyFormat):
    """`chunk-0-0.bin`, one item with all rows; a folder and an `index.json` for each split."""

    name = "litdata"
    fixed_rows = True

    def file_names(self, shard: int, split: str = "") -> tuple[str, ...]:
        """Return the name of the chunk."""
        return (in_split(split, f"chunk-0-{shard}.bin"),)

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse files of 4 GiB and more."""
        super().check(shape, max_id)
        check_size(self.name, "bytes", self._end(shape), LIMIT)

    def head(self, shape: ShardShape) -> bytes:
        """Return the table of the one item."""
        return HEAD.pack(1, HEAD.size, self._end(shape))

    def finish(self, folder: Path, shards: Sequence[ShardFacts]) -> list[FileRecord]:
        """Write one index per split."""
        return write_indices(folder, shards, _index_json)

    def locate(self, paths: list[Path], dtype: str) -> IdRange:
        """Read the table."""
        items, begin, end = HEAD.unpack(read_head(paths[0], HEAD.size))
        stored = self.stored_dtype(dtype)
        if items != 1 or begin != HEAD.size or end < begin or (end - begin) % stored.itemsize:
            raise CorruptShard(f"not a chunk of one {dtype} item", path=paths[0])
        return IdRange(stored, HEAD.size, (end - begin) // stored.itemsize)

    def _end(self, shape: ShardShape) -> int:
        return HEAD.size + self.stored_ids(shape) * shape.item_size


def _index_json(shards: list[ShardFacts]) -> bytes:
    chunks = [
        {
            "chunk_bytes": shard.files[0].bytes,
            "chunk_size": 1,
            "dim": shard.ids,
            "filename": shard.files[0].path.rpartition("/")[2],
        }
        for shard in shards
    ]
    config = {
        "chunk_bytes": max(shard.files[0].bytes for shard in shards),
        "chunk_size": None,
        "compression": None,
        "data_format": [f"no_header_numpy:{CODES[shards[0].dtype]}"],
        "data_spec": ONE_ARRAY,
        "encryption": None,
        "item_loader": "TokensLoader",
    }
    # Readers keep copies until this number changes, so it is computed from the content.
    content = "".join(shard.files[0].checksum for shard in shards)
    index = {
        "chunks": chunks,
        "config": config,
        "updated_at": str(xxhash.xxh32_intdigest(content.encode())),
    }
    return json.dumps(index, sort_keys=True).encode()
