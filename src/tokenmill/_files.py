"""Files that are complete or absent: written under another name, checksummed, synced, renamed.

A file gets its name when all its bytes are on the disk. What a killed run leaves has the suffix
UNFINISHED, and the next run removes it.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xxhash

from tokenmill._errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNFINISHED = ".tokenmill-part"  # unlikely in the name of a user's file


@dataclass(frozen=True)
class FileRecord:
    """A finished file: its path in the folder, its size, and its checksum `xxh3-128:<hex>`."""

    path: str
    bytes: int
    checksum: str


class NewFile:
    """An unfinished file: `commit` gives it its name, `discard` removes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(path.name + UNFINISHED)
        self._hash = xxhash.xxh3_128()
        self.size = 0
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._unfinished.open("wb", buffering=0)

    def write(self, data: Any) -> None:  # anything with a contiguous buffer
        """Append the bytes of a buffer."""
        view = memoryview(data).cast("B") if not isinstance(data, bytes) else memoryview(data)
        self._hash.update(view)
        self.size += len(view)
        with writing(self._path):
            while view:  # an unbuffered file may accept fewer bytes
                view = view[self._file.write(view) :]

    def commit(self) -> FileRecord:
        """Sync, close, and give the file its name."""
        with writing(self._path):
            os.fsync(self._file.fileno())
            self._file.close()
            self._unfinished.replace(self._path)
            sync_folder(self._path.parent)
        return FileRecord(self._path.name, self.size, "xxh3-128:" + self._hash.hexdigest())

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
    except OutputError:
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


def checksum(path: Path) -> str:
    """Return the checksum of a file, as in its FileRecord."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        for block in _blocks(file):
            digest.update(block)
    return "xxh3-128:" + digest.hexdigest()


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_unfinished(folder: Path) -> int:
    """Remove the unfinished files in a folder tree, and return how many there were."""
    left = list(folder.rglob("*" + UNFINISHED)) if folder.is_dir() else []
    for path in left:
        path.unlink(missing_ok=True)
    return len(left)


def _blocks(file: Any) -> Iterator[bytes]:
    while block := file.read(1 << 22):
        yield block
