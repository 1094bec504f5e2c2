"""Files: made durable, renamed, removed, and read and written at a place.

Windows refuses to replace or remove a file that is open somewhere, for example while a virus
scanner reads it. Replacing is tried again, for a second.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock as Lock  # noqa: N812 -- threading takes a millisecond to import
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    PathLike = str | os.PathLike[str]

_PLAIN = getattr(os, "O_BINARY", 0)  # or Windows changes the ends of lines
_READ = os.O_RDONLY | _PLAIN
_WRITE = os.O_RDWR | _PLAIN
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _PLAIN
_moving = Lock()  # held where the position of a file moves
_MOST_BUFFERS = 1024  # IOV_MAX
_PAUSES = (0.001, 0.002, 0.004, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.3)  # seconds: a second in all


def replace(source: PathLike, target: PathLike) -> None:
    """Give a file another name; what had the name is gone. Readers see the old file or the new."""
    if sys.platform == "win32":
        for pause in _PAUSES:
            try:
                return os.replace(source, target)
            except PermissionError:  # somebody has it open, or it must not be changed at all
                time.sleep(pause)
    return os.replace(source, target)


def remove_unless_used(path: PathLike) -> bool:
    """Remove a file of a cache; return whether it is gone. Windows keeps one that is mapped."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except PermissionError:
        if sys.platform == "win32":
            return False
        raise
    return True


def sync_file(path: PathLike) -> None:
    """Put a whole file on the disk. Windows does so only for files that are open for writing."""
    handle = os.open(path, _WRITE if sys.platform == "win32" else _READ)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_to_read(path: PathLike) -> int:
    """Open a file; the number is for `read_at` and for the core."""
    return os.open(path, _READ)


def create(path: PathLike) -> int:
    """Create a file to write to; FileExistsError if there is one."""
    return os.open(path, _NEW, 0o666)


def read_at(file: int, memory: memoryview, place: int) -> int:
    """Read bytes from a place on into memory; return how many, 0 at the end of the file."""
    if hasattr(os, "preadv"):
        count: int = os.preadv(file, [memory], place)
        return count
    if hasattr(os, "pread"):
        data = os.pread(file, len(memory), place)
    else:
        with _moving:
            os.lseek(file, place, os.SEEK_SET)
            data = os.read(file, len(memory))
    memory[: len(data)] = data
    return len(data)


def write_buffers(file: int, buffers: Sequence[memoryview]) -> int:
    """Append some bytes of some buffers, as many as one call of the system takes."""
    if hasattr(os, "writev"):
        written: int = os.writev(file, buffers[:_MOST_BUFFERS])
        return written
    return os.write(file, buffers[0])


def write_at(file: int, data: memoryview, place: int) -> int:
    """Write bytes at a place; return how many. Threads may write to one file at the same time."""
    if hasattr(os, "pwrite"):
        written: int = os.pwrite(file, data, place)
        return written
    with _moving:
        os.lseek(file, place, os.SEEK_SET)
        return os.write(file, data)


def will_read(path: PathLike, size: int) -> None:
    """Ask the system to read a file before its turn. A file that cannot be opened is left alone."""
    if sys.platform != "linux":
        return
    try:
        handle = os.open(path, _READ | os.O_NONBLOCK)
    except OSError:  # gone, or remote: the reader reports it
        return
    try:
        os.posix_fadvise(handle, 0, size, os.POSIX_FADV_WILLNEED)
    finally:
        os.close(handle)


CAN_READ_AHEAD = sys.platform == "linux"
