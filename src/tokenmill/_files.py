"""Files that are complete or absent: written under another name, checksummed, synced, renamed.

A file gets its name when all its bytes are on the disk. What a killed run leaves has the suffix
UNFINISHED, and the next run removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xxhash

from tokenmill import _core
from tokenmill._core import Checksum
from tokenmill._errors import OutputError, TokenmillError
from tokenmill._platform.files import (
    create,
    remove_unless_used,
    replace,
    sync_file,
    write_buffers,
)
from tokenmill._platform.folders import sync_folder
from tokenmill._timeline import add_bytes, stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

UNFINISHED = ".tokenmill-part"  # unlikely in the name of a user's file
_LARGE = 1 << 20  # bytes: written by one native call
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True)
class FileRecord:
    """A finished file: its path in the folder, its size, and its checksum `xxh3-128:<hex>`."""

    path: str
    bytes: int
    checksum: str


class NewFile:
    """An unfinished file: `commit` gives it its name, `discard` removes it.

    A file that only this run reads again can do without a checksum.
    """

    def __init__(self, path: Path, *, has_checksum: bool = True) -> None:
        self._path = path
        self._unfinished = unfinished_path(path)
        self._hash = Checksum() if has_checksum else None
        self.size = 0
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._unfinished.open("wb", buffering=0)

    def write(self, data: Any) -> None:  # anything with a contiguous buffer
        """Append the bytes of a buffer."""
        self.write_all([data])

    def write_all(self, buffers: Iterable[Any]) -> None:
        """Append the bytes of many buffers, by as few calls of the system as possible."""
        given = [memoryview(data) for data in buffers]
        views = [view.cast("B") for view in given if view.nbytes]
        if self._hash is not None and views and min(map(len, views)) >= _LARGE:
            self._append_large(views, self._hash)
            return
        for view in views:
            if self._hash is not None:
                self._hash.update(view)
            self.size += len(view)
        with stage("write", sum(map(len, views))), writing(self._path):
            while views:  # the system may accept fewer bytes
                views = _rest(views, write_buffers(self._file.fileno(), views))

    def _append_large(self, views: list[memoryview], checksum: Checksum) -> None:
        """Hash and write step by step: bytes that were hashed are still in the cache."""
        with stage("write", sum(map(len, views))), writing(self._path):
            for view in views:
                if error := _core.append_bytes(view, self._file.fileno(), checksum):
                    raise OSError(error, os.strerror(error))
                self.size += len(view)

    def commit(self) -> FileRecord:
        """Sync, close, and give the file its name."""
        with stage("wait_output"), writing(self._path):
            os.fsync(self._file.fileno())
            self._file.close()
            replace(self._unfinished, self._path)
            sync_folder(self._path.parent)
        return FileRecord(self._path.name, self.size, self._digest())

    def copy_pieces(
        self,
        files: list[int],
        places: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
        item_bytes: int,
    ) -> tuple[int, int]:
        """Append pieces of open files: the file of each, its begin and its length.

        Returns the number of a file that could not be read, or -1, and the error of the system.
        """
        assert self._hash is not None  # noqa: S101 -- only parts have none
        failed, error = _core.copy_pieces(
            files, *places, item_bytes, self._file.fileno(), self._hash
        )
        if failed == len(files):
            with writing(self._path):
                raise OSError(error, os.strerror(error))
        if failed < 0:
            size = int(places[2].sum()) * item_bytes
            self.size += size
            add_bytes("write", size)
        return failed, error

    def _digest(self) -> str:
        if self._hash is None:
            return ""
        short = self._hash.short_bytes()
        if short is not None:
            return "xxh3-128:" + xxhash.xxh3_128_hexdigest(short)
        return "xxh3-128:{:016x}{:016x}".format(*self._hash.digest())

    def discard(self) -> None:
        """Close and remove what was written."""
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._unfinished.unlink()


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the system into an OutputError with its path."""
    try:
        yield
    except TokenmillError:  # of a store, for example
        raise
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror or error}",
            path=str(path),
            hint="make room or choose another output; the same call resumes where this one stopped",
        ) from error


def write_file(path: Path, data: bytes) -> FileRecord:
    """Write a whole small file at once."""
    file = NewFile(path)
    try:
        file.write(data)
        return file.commit()
    except BaseException:
        file.discard()
        raise


def create_once(path: Path, data: bytes) -> bool:
    """Write a whole file unless there is one; return whether this call has written it.

    Of several processes, on any machine, exactly one gets True, and none sees half a file. Without
    hard links, a reader can see an empty file for a moment.
    """
    own = unfinished_path(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            own.write_bytes(data)
            sync_file(own)
            is_new = _link_once(own, path, data)
        finally:
            remove_unless_used(own)
        sync_folder(path.parent)
    return is_new


def _link_once(own: Path, path: Path, data: bytes) -> bool:
    try:
        path.hardlink_to(own)
    except FileExistsError:
        return own.stat().st_nlink > 1  # a file server may have done it and lost the answer
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return create_exclusive(path, data)
    return True


def create_exclusive(path: Path, data: bytes) -> bool:
    """Create a small file unless there is one; return whether this call has created it.

    It takes a file system fewer steps than `create_once`, but a reader can see an empty file.
    """
    try:
        handle = create(path)
    except FileExistsError:
        return False
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
    return True


def unfinished_path(path: Path) -> Path:
    """Return the name of an unfinished file: no other writer of the same file has it."""
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}{UNFINISHED}")


def checksum(path: Path) -> str:
    """Return the checksum of a file, as in its FileRecord."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        for block in _blocks(file):
            digest.update(block)
    return "xxh3-128:" + digest.hexdigest()


def remove_unfinished(folder: Path) -> int:
    """Remove what is unfinished in a folder tree, and return how many files and folders it was."""
    left: list[Path] = []
    with contextlib.suppress(FileNotFoundError):  # another process removes the folder
        left += folder.rglob("*" + UNFINISHED) if folder.is_dir() else ()
    for path in left:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            remove_unless_used(path)
    return len(left)


def _rest(views: list[memoryview], written: int) -> list[memoryview]:
    """Return what is left of buffers after that many bytes of them."""
    for number, view in enumerate(views):
        if written < len(view):
            return [view[written:], *views[number + 1 :]]
        written -= len(view)
    return []


def _blocks(file: Any) -> Iterator[bytes]:
    while block := file.read(1 << 22):
        yield block
