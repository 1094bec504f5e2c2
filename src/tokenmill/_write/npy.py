"""`npy`: a matrix of rows in a NumPy file, and the lengths of rows without padding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tokenmill._errors import CorruptShard
from tokenmill._write.body import BodyFormat, IdRange, read_head
from tokenmill._write.format import check_row_length

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np

    from tokenmill._pack.rows import ShardShape
    from tokenmill._write.format import Extras

MAGIC = b"\x93NUMPY\x01\x00"
ALIGNMENT = 64
SHAPE = re.compile(rb"\((\d{1,18}), (\d{1,18})\)")


class Npy(BodyFormat):
    """`shard-00000.npy`, rows by context length, and `shard-00000.lens.npy`, one int32 per row."""

    name = "npy"
    fixed_rows = True
    suffixes = (".npy", ".lens.npy")

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse lengths of rows that int32 cannot hold."""
        super().check(shape, max_id)
        check_row_length(self.name, shape.row_lengths)

    def head(self, shape: ShardShape) -> bytes:
        """Return the head of the matrix."""
        return _npy_head(self.stored_dtype(shape.dtype), (shape.rows, shape.context_length or 0))

    def side_files(self, shape: ShardShape, extras: Extras) -> Iterable[Iterable[Any]]:
        """Write the lengths."""
        del extras
        lengths = shape.row_lengths.astype("<i4")
        yield _npy_head(lengths.dtype, (shape.rows,)), lengths

    def locate(self, paths: list[Path], dtype: str) -> IdRange:
        """Read the head."""
        size = int.from_bytes(read_head(paths[0], len(MAGIC) + 2)[-2:], "little")
        head = read_head(paths[0], len(MAGIC) + 2 + size)
        found = SHAPE.search(head)
        shape = (int(found[1]), int(found[2])) if found else (0, 0)
        stored = self.stored_dtype(dtype)
        if head != _npy_head(stored, shape):
            raise CorruptShard(f"not an NPY 1.0 file of {dtype} rows", path=paths[0])
        return IdRange(stored, len(head), shape[0] * shape[1])


def _npy_head(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    # Not written by NumPy, whose releases reserve different amounts of room.
    words = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape!r}, }}"
    before = len(MAGIC) + 2
    text = words.ljust(-(-(before + len(words) + 1) // ALIGNMENT) * ALIGNMENT - before - 1) + "\n"
    return MAGIC + len(text).to_bytes(2, "little") + text.encode("ascii")
