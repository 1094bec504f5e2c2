"""The cache directory: compiled models by the hash of what they were made from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import xxhash

from tokenmill import __version__, _core
from tokenmill._cache_folder import cache_folder
from tokenmill._errors import CorruptModel
from tokenmill._model.file import (
    FORMAT_VERSION,
    ModelFile,
    open_model,
    write_atomically,
    write_model,
)

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping, Sequence

_MAX_BYTES = 2 << 30
_MAX_NOTES = 1000


def log() -> logging.Logger:
    """Return the logger of the package; logging takes milliseconds to import."""
    import logging

    return logging.getLogger("tokenmill")


def key_of(sources: Sequence[bytes | memoryview], arguments: Mapping[str, object]) -> str:
    """Hash what a model is made from, and by which compiler."""
    digest = xxhash.xxh3_128()
    digest.update(repr([sorted(arguments.items()), _compiler()]).encode())
    for source in sources:
        digest.update(len(source).to_bytes(8, "little"))
        digest.update(source)
    return str(digest.hexdigest())


def recall(state: str) -> str | None:
    """Return the key that files had in this state (see seen.py); None if nobody noted it."""
    home = cache_folder()
    if home is None:
        return None
    try:
        with open(_note_path(home, state), encoding="utf-8") as file:
            key = file.read()
    except (OSError, UnicodeDecodeError):
        return None
    return key if len(key) == len(state) and key.isascii() and key.isalnum() else None


def note(state: str, key: str) -> None:
    """Remember the key of files in this state; if that cannot be written, continue."""
    home = cache_folder()
    if home is None:
        return
    try:
        _make(home)
        write_atomically(_note_path(home, state), [key.encode()])
    except OSError as error:
        log().info("the cache cannot be written: %s", error)


def fetch(key: str) -> ModelFile | None:
    """Return the model of a key, mapped and verified; None when it is not there or is broken."""
    home = cache_folder()
    if home is None:
        return None
    path = _path(home, key)
    try:
        model = open_model(path)
    except CorruptModel as error:
        log().warning("a file of the cache is broken and is built again: %s", error)
        return None
    except OSError:
        return None
    _touch(path)
    return model


def store(key: str, payload: bytes) -> None:
    """Keep a model; if the folder cannot be written, log that and continue."""
    home = cache_folder()
    if home is None:
        return
    path = _path(home, key)
    try:
        _make(home)
        write_model(payload, path)
        _trim(home, path)
    except OSError as error:
        log().info("the cache cannot be written: %s", error)


def drop(key: str) -> None:
    """Remove the model of a key, if it can be removed."""
    home = cache_folder()
    if home is not None:
        _remove(_path(home, key))


def _make(home: str) -> None:
    os.makedirs(home, mode=0o700, exist_ok=True)


def _path(home: str, key: str) -> str:
    return os.path.join(home, f"{key}.mill")


def _note_path(home: str, state: str) -> str:
    return os.path.join(home, f"{state}.seen")


def _compiler() -> list[object]:
    """Name the code that compiles: a rebuilt core must not be served another core's tables."""
    stat = os.stat(str(_core.__file__))
    return [__version__, FORMAT_VERSION, stat.st_size, stat.st_mtime_ns]


def _touch(path: str) -> None:
    try:
        os.utime(path)
    except OSError:
        return  # a cache that is only read, by another user perhaps


def _trim(home: str, newest: str) -> None:
    """Remove the files used longest ago until the folder is within its bounds."""
    for _, _, path in _by_age(home, ".seen")[:-_MAX_NOTES]:
        _remove(path)
    files = _by_age(home, ".mill")
    excess = sum(size for _, size, _ in files) - _MAX_BYTES
    for _, size, path in files:
        if excess <= 0:
            break
        if path != newest:
            _remove(path)
            excess -= size


def _by_age(home: str, ending: str) -> list[tuple[int, int, str]]:
    """List the time, size and path of files, the one used longest ago first."""
    files = []
    with os.scandir(home) as entries:
        for entry in entries:
            if not entry.name.endswith(ending):
                continue
            try:
                stat = entry.stat()
            except FileNotFoundError:
                continue  # another process trims too
            files.append((stat.st_mtime_ns, stat.st_size, entry.path))
    return sorted(files)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        log().info("the cache cannot be trimmed: %s", error)
