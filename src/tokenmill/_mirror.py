"""Finished outputs in a store as folders of this machine: files come when they are first needed.

The folder is in the cache, named after the address and the version of the manifest, and has a note
that says where its files are. So a path alone is enough to fetch a file, in any process. A file is
complete or absent, and has the size and the checksum of the manifest. When the cache is full, the
files that were not used for longest go, but none that was used in the last minute; a file that
somebody has mapped stays readable.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import (
    CorruptShard,
    ObjectNotFound,
    OptionError,
    SourceNotFound,
    StoreError,
)
from tokenmill._platform.files import remove_unless_used, replace
from tokenmill._platform.locks import lock
from tokenmill._store import is_address, parse_address

if TYPE_CHECKING:
    from collections.abc import Iterator

_MANIFEST = "manifest.json"
_NOTE = ".store.json"
_LOCK = ".fetching"
_FOLDER = "outputs"
_DEPTH = 4  # folders between a file and its note
_USUAL_GB = 50.0
_LIMIT = "TOKENMILL_STORE_CACHE_GB"
_GRACE_NS = 60 * 10**9  # a file that was just fetched is about to be opened


def local_output(output: str | os.PathLike[str]) -> Path:
    """Return the folder of an output: a path as it is, an address as its folder in the cache."""
    text = os.fspath(output)
    if not is_address(text):
        return Path(text)
    from tokenmill._store import get_whole

    address = parse_address(text)
    if address.name == _MANIFEST:
        address = address.parent
    try:
        body, info = get_whole(address / _MANIFEST)
    except ObjectNotFound as error:
        raise SourceNotFound(
            "no manifest.json here: nothing was packed, or the run is not finished",
            source=text,
            hint="is the address right?",
        ) from error
    version = hashlib.sha256(f"{address}\n{info.tag}".encode()).hexdigest()[:16]
    folder = _root() / f"{address.name or address.bucket}-{version}"
    if not (folder / _NOTE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        note = {"address": str(address), "files": _files_of(bytes(body), f"{address}/{_MANIFEST}")}
        _write(folder / _MANIFEST, bytes(body))
        _write(folder / _NOTE, json.dumps(note).encode())
    return folder


def shown(folder: Path) -> str:
    """Return what people call an output: its address if it is in a store, else its folder."""
    note = _note(folder)
    return str(folder) if note is None else str(note["address"])


def here(path: Path) -> Path:
    """Return the path, after fetching the file if it belongs to an output in a store."""
    folder = _folder_of(path)
    if folder is None:
        return path
    if path.exists():
        os.utime(path)  # it was used
    else:
        _fetch(folder, path)
    return path


def is_here(path: Path) -> bool:
    """Tell whether a file is there, or could be fetched as the manifest describes it."""
    try:
        return here(path).is_file()
    except (CorruptShard, ObjectNotFound):
        return False


def strangers(folder: Path, known: set[str]) -> list[str] | None:
    """Return the objects of an output in a store that are not known; None if it is a folder."""
    note = _note(folder)
    if note is None:
        return None
    from tokenmill._store import list_objects

    address = parse_address(note["address"])
    begin = len(address.key) + 1 if address.key else 0
    keys = (info.address.key[begin:] for info in list_objects(address))
    return [key for key in keys if key not in known]


def refuse_too_large(folder: Path, size: int) -> None:
    """Raise OptionError if so many bytes of an output in a store do not fit into the cache."""
    if _note(folder) is not None and size > _limit():
        raise OptionError(
            f"{size / 1e9:.1f} GB are needed again and again, and the cache holds "
            f"{_limit() / 1e9:g} GB",
            where=shown(folder),
            hint=f"set {_LIMIT}, or copy the output to a disk",
        )


def _files_of(manifest: bytes, where: str) -> dict[str, Any]:
    """Return the size and the checksum of every file of a manifest."""
    try:
        data = json.loads(manifest)
        listed = [file for shard in data["shards"] for file in shard["files"]]
        files = {f["path"]: [f["bytes"], f["checksum"]] for f in [*listed, *data["files"]]}
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptShard(f"not the manifest of an output: {error!r}", path=where) from error
    if outside := [name for name in files if name.startswith("/") or ".." in name.split("/")]:
        raise CorruptShard(f"lists a file outside of the output: {outside[0]}", path=where)
    return files


def _fetch(folder: Path, path: Path) -> None:
    """Fetch a file, unless another process does so at this moment."""
    note = _note(folder) or {}
    name = path.relative_to(folder).as_posix()
    if name not in note.get("files", {}):
        return
    from tokenmill._store import download, is_forked

    if is_forked():
        _fetch_in_another_process(path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path):
        if path.exists():
            return
        size, checksum = note["files"][name]
        address = parse_address(note["address"]) / name
        own = path.with_name(f"{path.name}.{os.getpid()}{_LOCK}-part")
        try:
            _check(download(address, own), own, size, checksum, str(address))
            replace(own, path)
        finally:
            own.unlink(missing_ok=True)
    _make_room(path)


def _check(got: int, file: Path, size: int, wanted: str, url: str) -> None:
    from tokenmill._files import checksum

    if got != size:
        raise CorruptShard(f"expected {size:,} bytes, got {got:,}", path=url)
    if (found := checksum(file)) != wanted:
        raise CorruptShard(
            f"expected {wanted}, got {found}", path=url, hint="the object is damaged: pack it again"
        )


def _fetch_in_another_process(path: Path) -> None:
    """Fetch for a process that was forked, which cannot use a store itself."""
    code = f"from pathlib import Path; from {__name__} import here; here(Path({str(path)!r}))"
    done = subprocess.run(  # noqa: S603 -- this interpreter, and a path
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    if done.returncode or not path.exists():
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise StoreError(f"could not be fetched: {lines[-1]}", url=str(path))


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from fetching the same file."""
    with path.with_name(path.name + _LOCK).open("w") as file:
        lock(file)
        yield


def _make_room(newest: Path) -> None:
    """Remove the files that were not used for longest while the cache holds too much."""
    files = sorted(_cached_files())
    total, limit = sum(size for _, size, _ in files), _limit()
    young = time.time_ns() - _GRACE_NS
    for used, size, path in files:
        if total <= limit or used > young:
            return
        if path != newest and remove_unless_used(path):
            total -= size


def _cached_files() -> Iterator[tuple[int, int, Path]]:
    """Yield when each fetched file was used last, its size and its path."""
    for note in _root().glob(f"*/{_NOTE}"):
        for path in note.parent.rglob("*"):
            if path.name in (_NOTE, _MANIFEST) or _LOCK in path.name or path.is_dir():
                continue
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                status = path.stat()
                yield status.st_mtime_ns, status.st_size, path


def _limit() -> int:
    text = os.environ.get(_LIMIT, "")
    try:
        gigabytes = float(text) if text else _USUAL_GB
    except ValueError:
        gigabytes = 0.0
    if not 0 < gigabytes < float("inf"):
        raise OptionError(f"expected a number of gigabytes, got {text!r}", where=_LIMIT)
    return int(gigabytes * 1e9)


def _root() -> Path:
    """Return the folder of all outputs in the cache."""
    from tokenmill._cache_folder import cache_folder

    found = cache_folder()
    if found is None:
        raise OptionError(
            "outputs in a store are read through the cache, which is off",
            where="TOKENMILL_CACHE",
            hint="set it to a folder, or copy the output to a disk",
        )
    return Path(found) / _FOLDER


def _folder_of(path: Path) -> Path | None:
    """Return the folder with the note that a file belongs to; None outside of the cache."""
    for folder in list(path.parents)[:_DEPTH]:
        if folder.parent.name == _FOLDER and (folder / _NOTE).exists():
            return folder
    return None


def _note(folder: Path) -> dict[str, Any] | None:
    try:
        note: dict[str, Any] = json.loads((folder / _NOTE).read_bytes())
    except FileNotFoundError:
        return None
    return note


def _write(path: Path, data: bytes) -> None:
    own = path.with_name(f"{path.name}.{os.getpid()}{_LOCK}-part")
    own.write_bytes(data)
    replace(own, path)
