"""A new file, dressed as the stream that other libraries write to."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenmill._files import NewFile


class FileStream(io.RawIOBase):
    """Takes bytes from beginning to end; closing it leaves the file to its shard."""

    def __init__(self, file: NewFile) -> None:
        self._file: NewFile | None = file
        self._size = 0

    def stop(self) -> None:
        """Let further bytes go nowhere: a library that gives up still writes its last ones."""
        self._file = None

    def writable(self) -> bool:
        """Say that bytes may be written."""
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
