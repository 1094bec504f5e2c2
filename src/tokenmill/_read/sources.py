"""The bytes of an input from start to end: opened, decompressed, and checked."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from tokenmill._errors import InputError, TokenmillError
from tokenmill._read.codecs import open_codec
from tokenmill._read.remote import asking, is_remote, open_remote
from tokenmill._read.stdin import STDIN, open_stdin
from tokenmill._store import is_address
from tokenmill._timeline import stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._read.inputs import InputFile

_RAW_BYTES = 1 << 20
_SKIP_BYTES = 1 << 22
_STEP_BYTES = 1 << 20  # larger steps allocate fresh memory, which costs more than a second call
# Zeros after the last member: padding of gzip and xz files, which their tools ignore too.
_PADDED = frozenset({"gz", "xz"})


class PlainSource:
    """An uncompressed file. `position` is the next byte."""

    def __init__(
        self, input_file: InputFile, *, look: bool = False, span: tuple[int, int | None] = (0, None)
    ) -> None:
        self._input = input_file
        self._file: Any = open_bytes(input_file, look=look)
        # An object of a store is read in ranges, which are taken as they are.
        self._some = self._file.view if is_address(input_file.path) else self._file.read
        if is_address(input_file.path) and not look:
            self._file.expect([span])
        self.position = 0

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes, fewer only at the end."""
        pieces = list(self._pieces(size))
        is_one = len(pieces) == 1 and isinstance(pieces[0], bytes)
        return pieces[0] if is_one else b"".join(pieces)

    def append_to(self, buffer: bytearray, size: int) -> int:
        """Append up to `size` bytes, fewer only at the end, and return how many."""
        before = len(buffer)
        for piece in self._pieces(size):
            buffer += piece
        return len(buffer) - before

    def _pieces(self, size: int) -> Iterator[Any]:  # bytes or views
        while size > 0:
            with reading(self._input, self.position):
                piece = self._some(size)
            if not piece:
                self._check_end()
                break
            self.position += len(piece)
            size -= len(piece)
            yield piece

    @property
    def descriptor(self) -> int | None:
        """The system's number of the file, if any place of it can be read with it."""
        is_local = self._input.path != STDIN and not is_remote(self._input.path)
        return self._file.fileno() if is_local else None

    def skip_to(self, position: int) -> None:
        """Continue at another byte."""
        if position != self.position:
            with reading(self._input, position):
                self._file.seek(position)
            self.position = position

    @property
    def consumed(self) -> int:
        """Bytes of the file that were read."""
        return self.position

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check_end(self) -> None:
        size = self._input.size
        if size >= 0 and self.position != size:
            raise InputError(
                f"expected {size} bytes as when the run was planned, got {self.position}",
                path=self._input.path,
                offset=self.position,
                hint="inputs may not change during a run",
            )


class CompressedSource:
    """A compressed file of one member or many; `position` counts decompressed bytes."""

    descriptor = None  # only its start can be found

    def __init__(self, input_file: InputFile, *, look: bool = False) -> None:
        self._input = input_file
        self._raw = PlainSource(input_file, look=look)
        self._codec = open_codec(str(input_file.compression))
        self._decoder: Any = None
        self._pending = b""
        self._is_empty = True
        self.position = 0

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes, fewer only at the end."""
        buffer = bytearray()
        self.append_to(buffer, size)
        return bytes(buffer)

    def append_to(self, buffer: bytearray, size: int) -> int:
        """Append up to `size` bytes, fewer only at the end, and return how many."""
        left = size
        while left > 0 and (piece := self._step(min(left, _STEP_BYTES))):
            buffer += piece
            left -= len(piece)
        self.position += size - left
        return size - left

    def skip_to(self, position: int) -> None:
        """Decompress and discard everything before a byte."""
        while self.position < position:
            if not self.read(min(position - self.position, _SKIP_BYTES)):
                raise InputError(
                    f"ends before byte {position} of its text, where reading was to resume",
                    path=self._input.path,
                    offset=self.consumed,
                    hint="inputs may not change during a run",
                )

    @property
    def consumed(self) -> int:
        """Bytes of the compressed file that were read and used."""
        return self._raw.position - len(self._pending)

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def _step(self, size: int) -> bytes:
        """Return some bytes, none only at the end."""
        while True:
            if self._decoder is None and not self._start_member():
                return b""
            data = b""
            if self._decoder.needs_input:
                data = self._pending or self._raw.read(_RAW_BYTES)
                self._pending = b""
                if not data:
                    self._fail("the compressed data ends before its end marker")
            try:
                with stage("decompress", len(data)):
                    piece: bytes = self._decoder.decompress(data, size)
            except self._codec.errors as error:
                self._fail(f"the {self._input.compression} data is damaged: {error}", error)
            if self._decoder.eof:
                self._pending = self._decoder.unused_data
                self._decoder = None
            if piece:
                return piece

    def _start_member(self) -> bool:
        padding = b"\0" if self._input.compression in _PADDED and not self._is_empty else b""
        data = self._pending.lstrip(padding) if padding else self._pending
        while not data:
            data = self._raw.read(_RAW_BYTES)
            if not data:
                if self._is_empty:
                    self._fail(f"expected {self._input.compression} data, got an empty file")
                self._pending = b""
                return False
            data = data.lstrip(padding) if padding else data
        self._is_empty = False
        self._pending = data
        self._decoder = self._codec.new_decoder()
        return True

    def _fail(self, problem: str, cause: Exception | None = None) -> None:
        raise InputError(
            problem,
            path=self._input.path,
            offset=self.consumed,
            hint="download or copy the file again, or leave it out",
        ) from cause


Source = PlainSource | CompressedSource


def open_source(
    input_file: InputFile, *, look: bool = False, span: tuple[int, int | None] = (0, None)
) -> PlainSource | CompressedSource:
    """Open an input at its first byte; `look` leaves stdin unread, and reads little of others.

    Of a plain file, the bytes of `span` will be read, in this order.
    """
    if input_file.compression is None:
        return PlainSource(input_file, look=look, span=span)
    return CompressedSource(input_file, look=look)


def open_bytes(input_file: InputFile, *, look: bool = False) -> Any:  # it has `read` and `close`
    """Open the file, and check that it has not changed since it was listed."""
    if input_file.path == STDIN:
        return open_stdin(look=look)
    with reading(input_file, None):
        if is_remote(input_file.path):
            return open_remote(input_file)
        file = open(input_file.path, "rb", buffering=0)  # noqa: PTH123, SIM115 -- closed by the source
        status = os.fstat(file.fileno())
    if (status.st_size, status.st_mtime_ns) != (input_file.size, input_file.modified_ns):
        file.close()
        raise InputError(
            f"changed since the run was planned: expected {input_file.size} bytes, got "
            f"{status.st_size}",
            path=input_file.path,
            hint="inputs may not change during a run",
        )
    return file


@contextlib.contextmanager
def reading(input_file: InputFile, offset: int | None) -> Iterator[None]:
    """Turn errors of the system into an InputError with its place."""
    try:
        with asking(input_file.path):
            yield
    except TokenmillError:
        raise
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}",
            path=input_file.path,
            offset=offset,
            hint="was it moved or removed since the run was planned?",
        ) from error
