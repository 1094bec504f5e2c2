"""Folders: made durable, locked, and where a system keeps what can be made again."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokenmill._platform.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = ".lock"


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make renames in a folder durable. Windows cannot open folders; NTFS logs renames itself."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from the same block with this folder.

    The folder itself is locked; on Windows a file in it, which stays.
    """
    if sys.platform == "win32":
        handle = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT)
    else:
        handle = os.open(folder, os.O_RDONLY)
    try:
        lock(handle)
        yield
    finally:
        os.close(handle)


def cache_home() -> str | None:
    """Return the folder in which programs of this user keep their caches; None if he has no home.

    XDG_CACHE_HOME wins on every system.
    """
    if named := os.environ.get("XDG_CACHE_HOME"):
        return named
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return local
    home = os.path.expanduser("~")
    if home == "~":
        return None
    if sys.platform == "win32":
        return os.path.join(home, "AppData", "Local")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches")
    return os.path.join(home, ".cache")
