"""Large new objects, sent in parts: nothing has the final name before `commit`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tokenmill._errors import OptionError, StoreError
from tokenmill._store.client import client, library
from tokenmill._store.counts import count_bytes, count_request
from tokenmill._store.objects import ObjectInfo, head, put
from tokenmill._store.retry import attempts, translated

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

    from tokenmill._store.address import Address

PART_BYTES = 8 << 20
_IN_FLIGHT = 4
_UPLOADS = 3  # of a whole file that fails, such as one with a part that the store has lost
_TRIES = 2  # of a whole file; its parts are tried more often


class Upload:
    """An object that is being written; a context manager that aborts unless it was committed.

    Parts are sent while later ones are written, at most four at a time, and each is tried again if
    it fails. After an error nothing is left: start again.
    """

    def __init__(self, address: Address) -> None:
        _check_writable(address)
        self.address = address
        self.size = 0
        store = client(address, repeats=attempts() - 1)
        self._file = library().open_writer(
            store, address.key, buffer_size=PART_BYTES, max_concurrency=_IN_FLIGHT
        )
        self._is_open = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        try:
            self._file.write(data)
        except Exception as error:
            self.abort()
            raise translated(error, self.address) from error
        self.size += len(data)

    def commit(self) -> ObjectInfo:
        """Give the object its name, and check what the store then says about it."""
        count_request("part", number=parts_of(self.size))
        try:
            self._file.close()
        except Exception as error:
            self.abort()
            raise translated(error, self.address) from error
        self._is_open = False
        count_bytes(went=self.size)
        return _checked(self.address, self.size)

    def abort(self) -> None:
        """Remove the parts that were sent; nothing if it is committed or aborted already."""
        if not self._is_open:
            return
        self._is_open = False
        # If even that fails, parts without a name stay until the bucket's own rules remove them.
        with contextlib.suppress(Exception):
            self._file.__exit__(RuntimeError, RuntimeError("given up"), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.abort()


def put_file(address: Address, path: Path) -> ObjectInfo:
    """Write a file of this machine to a store, in parts if it is large, again if that fails."""
    _check_writable(address)
    size = path.stat().st_size
    if size > PART_BYTES:
        return _put_parts(address, path)
    # One request with all bytes and their checksum: an answer says that the store has them.
    info = put(address, path.read_bytes())
    return info if info is not None else _checked(address, size)


def _put_parts(address: Address, path: Path) -> ObjectInfo:
    for attempt in range(_UPLOADS):
        try:
            with path.open("rb") as file, Upload(address) as upload:
                while block := file.read(PART_BYTES):
                    upload.write(block)
                return upload.commit()
        except StoreError:  # each part was tried again already
            if attempt + 1 == _UPLOADS:
                raise
    raise AssertionError  # the last attempt returns or raises


def parts_of(size: int) -> int:
    """Return how many requests an upload of so many bytes takes."""
    parts = max(1, -(-size // PART_BYTES))
    return 1 if parts == 1 else parts + 2  # to begin and to end


def _checked(address: Address, size: int) -> ObjectInfo:
    info = head(address)
    if info.size != size:
        raise StoreError(
            f"expected an object of {size} bytes after writing it, got {info.size}",
            url=str(address),
            hint="does another program write to the same name?",
        )
    return info


def _check_writable(address: Address) -> None:
    if address.is_read_only:
        raise OptionError("nothing can be written to a web server", where=str(address))
