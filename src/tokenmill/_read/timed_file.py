"""A file for a library that reads inside of what it does: how long the reads took.

Apache Arrow reads, decompresses and decodes a Parquet file in one call. Threads of its own read,
one after another, while the caller waits: so the rest of the call is what the other two took. Where
Arrow decodes during a read, too much of the time counts as reading.
"""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from typing import Any


class TimedFile(io.RawIOBase):
    """A file that knows how many bytes were read from it, and how many seconds that took."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.taken = 0
        self.seconds = 0.0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it has positions."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        begin = time.perf_counter()
        data: bytes = self.file.read(size)
        self.seconds += time.perf_counter() - begin
        self.taken += len(data)
        return data

    def read_buffer(self, size: int = -1) -> pa.Buffer:
        """Return the next bytes as Arrow wants them, without a copy."""
        return pa.py_buffer(self.read(size))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        return int(self.file.seek(offset, whence))

    def tell(self) -> int:
        """Return the position."""
        return int(self.file.tell())

    def close(self) -> None:
        """Close the file."""
        self.file.close()
        super().close()
