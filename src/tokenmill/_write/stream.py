"""A new file as a stream that other libraries can write to."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenmill._files import NewFile


class FileStream(io.RawIOBase):
    """Accepts bytes from start to end; closing it does not close the file of the shard."""

    def __init__(self, file: NewFile) -> None:
        self._file: NewFile | None = file
        self._size = 0

    def stop(self) -> None:
        """Ignore further bytes: a library closed after an error still writes its last ones."""
        self._file = None

    def writable(self) -> bool:
        """Return that bytes can be written."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._size

    def write(self, data: Any) -> int:  # anything with a contiguous buffer
        """Append the bytes of a buffer."""
        size = memoryview(data).nbytes
        self._size += size
        if self._file is not None:
            self._file.write(data)
        return size
