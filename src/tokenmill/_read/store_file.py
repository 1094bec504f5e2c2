"""An object of a store as a file, read in ranges that are requested ahead, of one version."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from tokenmill._errors import InputError, ObjectChanged, ObjectNotFound
from tokenmill._store import IN_FLIGHT, RANGE_BYTES, ByteRange, cut, parse_address, shared_ahead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._read.inputs import InputFile

# Bytes that nobody expected to be read: the end of a line, the footer of a Parquet file.
_FIRST_STRAY = 64 << 10
_NOTHING = memoryview(b"")


class StoreFile(io.RawIOBase):
    """Reads an object at any place. `expect` says which bytes will be read, in their order."""

    def __init__(self, input_file: InputFile) -> None:
        self._input = input_file
        self._address = parse_address(input_file.path)
        self._position = 0
        self._ranges: list[ByteRange] = []  # expected
        self._next = 0  # the first of them that was not taken
        self._promised = 0  # the first of them that was not requested
        self._begin, self._held = 0, _NOTHING  # the range that is being read
        self._stray_bytes = _FIRST_STRAY
        self._ahead = shared_ahead()
        self._ahead.add_reader()

    def expect(self, spans: Sequence[tuple[int, int | None]]) -> None:
        """Request these parts of the object ahead, instead of those expected before."""
        self._withdraw()
        size = self._input.size
        self._ranges = [
            each
            for begin, end in spans
            for each in cut(
                self._address, self._input.tag, begin, size if end is None else min(end, size)
            )
        ]
        self._next = self._promised = 0
        self._promise()

    def view(self, size: int) -> memoryview:
        """Return up to `size` bytes, at least one before the end, without a copy."""
        inside = self._position - self._begin
        if not 0 <= inside < len(self._held):
            if self._position >= self._input.size:
                return _NOTHING
            self._load(size)
            inside = self._position - self._begin
        piece = self._held[inside : inside + size]
        self._position += len(piece)
        return piece

    def readinto(self, buffer: Any) -> int:  # a buffer
        """Fill a buffer as far as the object goes."""
        room = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(room) and (piece := self.view(len(room) - filled)):
            room[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Continue at another byte."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._input.size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Return the next byte."""
        return self._position

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that any byte can be next."""
        return True

    def close(self) -> None:
        """Give up what was requested and not read."""
        if not self.closed:
            self._ahead.add_reader(-1)
            self._withdraw()
            self._ranges = []
            self._held = _NOTHING
        super().close()

    def __del__(self) -> None:
        if not self.closed and hasattr(self, "_ahead"):
            self._ahead.abandon(self._ranges[self._next : self._promised])

    def _load(self, size: int) -> None:
        """Take the range that holds the position: an expected one, or one of about this size."""
        self._held = _NOTHING  # its memory is free before the next one is taken
        at = self._position
        wanted = self._expected_at(at)
        if wanted is None:
            asked = min(max(size, self._stray_bytes), RANGE_BYTES)
            self._stray_bytes = min(self._stray_bytes * 4, RANGE_BYTES)
            end = min(at + asked, self._input.size)
            wanted = ByteRange(self._address, self._input.tag, at, end)
        try:
            self._begin, self._held = wanted.begin, self._ahead.take(wanted)
        except (ObjectChanged, ObjectNotFound) as error:
            raise InputError(
                f"changed since the run was planned: {error.problem}",
                path=self._input.path,
                offset=at,
                hint="inputs may not change during a run",
            ) from error

    def _expected_at(self, position: int) -> ByteRange | None:
        """Return the expected range with this byte, after requesting those that follow it."""
        for i in (*range(self._next, len(self._ranges)), *range(self._next)):
            found: ByteRange = self._ranges[i]
            if found.begin <= position < found.end:
                if i < self._next or i > self._promised:  # not in their order
                    self._withdraw()
                    self._promised = i
                self._ahead.promise(found)
                self._next = i + 1
                self._promised = max(self._promised, i + 1)
                self._promise()
                return found
        return None

    def _promise(self) -> None:
        last = min(self._next + IN_FLIGHT - 1, len(self._ranges))
        for i in range(self._promised, last):
            self._ahead.promise(self._ranges[i])
        self._promised = max(self._promised, last)

    def _withdraw(self) -> None:
        self._ahead.withdraw(self._ranges[self._next : self._promised])


def guess_span(input_file: InputFile, begin: int, end: int | None, most_bytes: int) -> int:
    """Request the first bytes of a part that somebody will soon expect; return how many."""
    last = input_file.size if end is None else min(end, input_file.size)
    asked = 0
    for wanted in cut(parse_address(input_file.path), input_file.tag, begin, last):
        if asked >= most_bytes:
            break
        shared_ahead().guess(wanted)
        asked += wanted.end - wanted.begin
    return asked


def guess_footer(input_file: InputFile) -> int:
    """Request the end of a Parquet file, which is what is read of it first."""
    begin = max(input_file.size - _FIRST_STRAY, 0)
    address = parse_address(input_file.path)
    shared_ahead().guess(ByteRange(address, input_file.tag, begin, input_file.size))
    return input_file.size - begin
