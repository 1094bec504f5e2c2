"""Stdin; its first bytes can be looked at before they are read, to plan a run."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import BinaryIO

STDIN = "-"


class Stdin:
    """Returns the bytes of a pipe once; those looked at before are kept until then."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held = bytearray()

    def read(self, size: int) -> bytes:
        """Take the next bytes."""
        if not self._held:
            return self._file.read(size)
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def look(self, begin: int, size: int) -> bytes:
        """Return bytes that were not read yet, without reading them; wait until they arrive."""
        missing = begin + size - len(self._held)
        if missing > 0:
            self._held += self._file.read(missing)
        return bytes(self._held[begin : begin + size])

    def close(self) -> None:
        """Close it, so that the process that writes to the pipe can stop."""
        self._file.close()


class Look:
    """Looks at stdin from its first byte, without reading it."""

    def __init__(self, stdin: Stdin) -> None:
        self._stdin = stdin
        self._position = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        seen = self._stdin.look(self._position, size)
        self._position += len(seen)
        return seen

    def close(self) -> None:
        """Do nothing."""


def open_stdin(*, look: bool) -> Stdin | Look:
    """Return stdin, to be read or only looked at."""
    stdin = _only(sys.stdin.buffer)
    return Look(stdin) if look else stdin


@lru_cache(maxsize=1)
def _only(file: BinaryIO) -> Stdin:
    """Return the only reader of a pipe: bytes that were looked at must be read from it."""
    return Stdin(file)
