"""The file of the disk tier: opened, verified before anybody reads it, or thrown away.

LMDB maps its file and believes it, so a damaged page could end the process. A process that is alone
with the file therefore verifies it first (`lmdb.verify` reads it without LMDB); a process that is
not alone relies on the one that was. A lock on a file next to it shows which it is.
"""

from __future__ import annotations

import secrets
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenmill._errors import MissingDependency
from tokenmill._platform.locks import lock

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType
    from typing import IO

NAME = "segments-1.mdb"  # another format gets another number
SEED_BYTES = 16
_FORMAT = b"tokenmill segments 1"
_MOST_READERS = 2048


class DiskError(Exception):
    """Why the disk tier is not used; the text says it."""


class _DamagedError(DiskError):
    """A file of ours that says wrong things about itself."""


class DiskFile(NamedTuple):
    """An open file of segments; `users` keeps others from verifying it meanwhile."""

    env: Any
    meta: Any
    records: Any
    order: Any
    seed: bytes
    users: IO[bytes] | None
    thrown_away: int


def import_lmdb() -> ModuleType:
    """Import the package; a hint says how to get it."""
    try:
        import_module("lmdb.verify")
        return import_module("lmdb")
    except ImportError as error:
        raise MissingDependency(
            "not installed, or older than 3", name="lmdb", hint="pip install 'tokenmill[disk]'"
        ) from error


def open_file(folder: Path, size: int, *, is_checked: bool = False) -> DiskFile:
    """Open the file in `folder`; a damaged one is removed, a foreign one is refused."""
    lmdb = import_lmdb()
    path = folder / NAME
    users = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        users, is_alone = (None, False) if is_checked else _lock(folder)
        thrown_away = _throw_away_if_damaged(path) if is_alone else 0
        try:
            return _open(lmdb, path, size, users, thrown_away)
        except _DamagedError:
            if not is_alone:
                raise
            _throw_away(path)
            return _open(lmdb, path, size, users, thrown_away + 1)
    except (OSError, lmdb.Error, DiskError) as error:
        if users is not None:
            users.close()
        problem = str(error) if isinstance(error, DiskError) else f"cannot be opened: {error}"
        raise DiskError(f"{path}: {problem}") from error


def _open(
    lmdb: ModuleType, path: Path, size: int, users: IO[bytes] | None, thrown_away: int
) -> DiskFile:
    # A cache may lose its last entries in a crash of the system: nothing waits for the disk.
    env = lmdb.open(
        str(path),
        subdir=False,
        map_size=size,
        max_dbs=3,
        max_readers=_MOST_READERS,
        mode=0o600,
        sync=False,
        readahead=False,
        meminit=False,
    )
    try:
        with env.begin(write=True) as change:
            if change.stat()["entries"] and change.get(b"meta") is None:
                raise DiskError("a database of something else, which is left alone")
            meta = env.open_db(b"meta", txn=change)
            if change.get(b"format", db=meta) is None:
                change.put(b"format", _FORMAT, db=meta)
                change.put(b"seed", secrets.token_bytes(SEED_BYTES), db=meta)
            seed = change.get(b"seed", db=meta)
            if change.get(b"format", db=meta) != _FORMAT or len(seed or b"") != SEED_BYTES:
                raise _DamagedError("not of the format that its name says")
            records = env.open_db(b"records", txn=change)
            order = env.open_db(b"order", txn=change)
        return DiskFile(env, meta, records, order, seed, users, thrown_away)
    except BaseException:
        env.close()
        raise


def _lock(folder: Path) -> tuple[IO[bytes], bool]:
    """Share the lock file; also tell whether nobody else had it."""
    file = (folder / f"{NAME}.users").open("ab")
    try:
        lock(file, wait=False)
        is_alone = True
    except OSError:
        is_alone = False
    return file, is_alone


def share_lock(users: IO[bytes] | None) -> None:
    """Let others in: the file is open and was verified."""
    if users is not None:
        lock(users, shared=True)


def _throw_away_if_damaged(path: Path) -> int:
    """Verify the pages of the file; remove it if they are not as LMDB writes them."""
    if not path.exists() or path.stat().st_size == 0:
        return 0
    verify: Any = import_module("lmdb.verify")
    try:
        problems = verify.verify(str(path), subdir=False)
    except Exception as error:  # whatever it stumbles over, the file is not sound
        problems = [str(error)]
    if not problems:
        return 0
    _throw_away(path)
    return 1


def _throw_away(path: Path) -> None:
    path.unlink()
    path.with_name(f"{path.name}-lock").unlink(missing_ok=True)
