"""Stdin, whose first bytes are looked at to plan the run before they are read."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import BinaryIO

STDIN = "-"


class Stdin:
    """Gives the bytes of a pipe once; what was looked at before is kept until then."""

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
        """Return bytes that nobody has taken yet, and leave them there; waits for them."""
        missing = begin + size - len(self._held)
        if missing > 0:
            self._held += self._file.read(missing)
        return bytes(self._held[begin : begin + size])

    def close(self) -> None:
        """Close it: whoever writes to the pipe hears that nobody reads on."""
        self._file.close()


class Look:
    """Reads stdin from its first byte on without taking anything."""

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
    """Return the one reader of a pipe: what one has looked at the other must give."""
    return Stdin(file)
