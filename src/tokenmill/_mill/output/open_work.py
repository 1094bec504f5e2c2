"""From an output as people write it to the work folder of its run."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from tokenmill._cache_folder import cache_folder
from tokenmill._errors import Hint, Option, OptionError
from tokenmill._mill.output.staged_work import OF_RANK, SharedWork, StagedWork
from tokenmill._mill.output.store_folder import StoreFolder
from tokenmill._mill.output.work import Work
from tokenmill._store import is_address, parse_address

_NAME_CHARACTERS = 40


def open_work(
    output: str | os.PathLike[str],
    work: str | os.PathLike[str] | None = None,
    *,
    owner: str | None = None,
) -> Work:
    """Return the work folder of an output; for one in a store, it is below `work`.

    `owner` names the rank that asks: each has a folder of its own there.
    """
    text = os.fspath(output)
    if not is_address(text):
        if work is not None:
            raise OptionError(
                "expected an output in a store with it, such as s3://bucket/packed, "
                f"got the folder {text}",
                where="work",
                hint="leave it out: work is done in the output folder",
            )
        return Work(Path(output))
    return _staged(text, work, owner)


def folder_of(output: str | os.PathLike[str]) -> Path:
    """Return the path of an output that must be a folder."""
    if is_address(os.fspath(output)):
        raise OptionError(
            "expected a folder, got an address: only `pack` writes to object stores",
            where=os.fspath(output),
            hint="write to a folder, and copy it with a tool of the store",
        )
    return Path(output)


def view_work(output: str | os.PathLike[str]) -> Work:
    """Return the work folder of an output, to look at it from outside: nothing is written."""
    text = os.fspath(output)
    if is_address(text):
        return SharedWork(StoreFolder(parse_address(text)), Path(os.devnull))
    return Work(Path(output))


def _staged(text: str, work: str | os.PathLike[str] | None, owner: str | None) -> StagedWork:
    store = StoreFolder(parse_address(text))
    if store.address.is_read_only:
        raise OptionError("cannot write to a web server", where=text)
    folder = _base(work) / _folder_name(str(store))
    if owner is None:
        return StagedWork(store, folder)
    return SharedWork(store, folder.with_name(f"{folder.name}{OF_RANK}{owner}"))


def _base(work: str | os.PathLike[str] | None) -> Path:
    if work is not None:
        return Path(work)
    folder = cache_folder()
    if folder is None:
        raise OptionError(
            "expected a folder for files before they are uploaded, and the cache is switched off",
            where="work",
            hint=Hint("give one with {}", Option("work")),
        )
    return Path(folder) / "work"


def _folder_name(address: str) -> str:
    """Name a folder after an output: its last words, for people, and a hash of all of it."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", address.partition("://")[2]).strip("-")
    return f"{words[-_NAME_CHARACTERS:]}-{hashlib.sha256(address.encode()).hexdigest()[:12]}"
