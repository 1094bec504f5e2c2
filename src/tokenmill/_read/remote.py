"""Inputs with a URL: objects of stores, and everything else that fsspec reads."""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from tokenmill._errors import InputError, MissingDependency, TokenmillError
from tokenmill._store import is_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._read.inputs import InputFile

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*(::|://)")


def is_remote(path: str) -> bool:
    """Tell a URL from a path."""
    return _URL.match(path) is not None


@contextmanager
def asking(path: str) -> Iterator[None]:
    """Turn any exception of the library that reads a URL into an InputError."""
    try:
        yield
    except (TokenmillError, OSError, ImportError):
        raise
    except Exception as error:
        if not is_remote(path):
            raise
        problem = f"cannot be read: {type(error).__name__}: {error}"
        hint = "is the URL right, and can this machine reach it?"
        raise InputError(problem, path=path, hint=hint) from error


def open_remote(input_file: InputFile) -> Any:  # it has `read`, `seek` and `close`
    """Open a URL for reading."""
    if is_address(input_file.path):
        from tokenmill._read.store_file import StoreFile

        return StoreFile(input_file)
    system, path = file_system(input_file.path)
    with asking(input_file.path):
        return system.open(path, "rb")


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs

        with asking(url):
            return cast("tuple[Any, str]", url_to_fs(url))
    except ImportError as error:  # fsspec itself, or what it needs for this kind of URL
        raise MissingDependency(
            f"cannot read {url} without it: {error}",
            name="fsspec",
            hint="pip install 'tokenmill[remote]'",
        ) from error


def changed_ns(info: dict[str, Any]) -> int:
    """Return when a remote file was changed, in nanoseconds; 0 if unknown."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        value = info.get(key)
        if isinstance(value, datetime):
            return int(value.timestamp() * 1e9)
        if isinstance(value, (int, float)):
            return int(value * 1e9)
    return 0
