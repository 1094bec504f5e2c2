"""`DiskTier`: records of segments that processes share and that outlive them.

It is never an obstacle: whatever is wrong with the disk is counted and said, and texts are then
encoded as without it. The core checks every record that comes from here.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from tokenmill._cache.disk_file import SEED_BYTES, DiskError, import_lmdb, open_file, share_lock
from tokenmill._cache.disk_writer import DiskWriter
from tokenmill._model.cache import log

if TYPE_CHECKING:
    import os
    from typing import IO

    from tokenmill._cache.disk_file import DiskFile

_MOST_ASKED = 1 << 16  # keys that are remembered as read
_CLOSE_SECONDS = 10.0
_LEAST_BYTES = 1 << 20


class DiskTier:
    """Keys -> records, in a file of LMDB. `is_open` is False once something was wrong with it."""

    def __init__(self, folder: str | os.PathLike[str], size: int) -> None:
        self._error: type[Exception] = import_lmdb().Error
        self._folder = Path(folder)
        self._size = max(size, _LEAST_BYTES)
        self.is_open = True
        self.reason = ""
        self.seed = secrets.token_bytes(SEED_BYTES)
        self._file: DiskFile | None = None
        self._writer: DiskWriter | None = None
        self._is_checked = False  # by the parent process
        self._inherited_lock: IO[bytes] | None = None
        self._opening = Lock()
        self._asked: set[bytes] = set()
        self._counts = {"thrown_away": 0, "refused": 0, "read_failures": 0}
        file = self._ensure()
        if file is not None:
            self.seed = file.seed

    def fetch(self, keys: list[bytes]) -> list[bytes | None]:
        """Return a record for each key, None where there is none. For the core."""
        file = self._ensure()
        nothing: list[bytes | None] = [None] * len(keys)
        if file is None:
            return nothing
        try:
            with file.env.begin(db=file.records) as view:
                found: list[bytes | None] = [view.get(key) for key in keys]
        except (self._error, OSError) as error:
            self._counts["read_failures"] += 1
            self._switch_off(f"cannot be read: {error}")
            return nothing
        if len(self._asked) < _MOST_ASKED:
            self._asked.update(key for key, one in zip(keys, found, strict=True) if one is not None)
        return found

    def refuse(self, keys: list[bytes]) -> None:
        """Remove records that the core does not believe."""
        self._counts["refused"] += len(keys)
        self._add([(key, None) for key in keys])

    def store(self, records: list[tuple[bytes, bytes | None]]) -> None:
        """Write records, later."""
        self._add(records)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything is written; False if `timeout` seconds were not enough."""
        return self._writer is None or self._writer.flush(timeout)

    def stats(self) -> dict[str, Any]:
        """Return what the file holds and what became of the records."""
        out: dict[str, Any] = {"path": str(self._folder), "budget": self._size, **self._counts}
        out |= {"is_open": self.is_open, "reason": self.reason, "entries": 0, "bytes": 0}
        names = ("written", "dropped", "evictions", "failures", "last_failure")
        out |= {name: getattr(self._writer, name, 0) for name in names}
        file = self._file
        if file is not None:
            with suppress(self._error), file.env.begin() as view:
                out["entries"] = view.stat(file.records)["entries"]
                out["bytes"] = int.from_bytes(view.get(b"bytes", b"", db=file.meta), "little")
        return out

    def close(self) -> None:
        """Write what waits and close the file; the tier is not used any more."""
        self.is_open = False
        self.reason = self.reason or "closed"
        file, self._file = self._file, None
        if self._writer is not None:
            self._writer.close(_CLOSE_SECONDS)
        if file is not None:
            file.env.close()
            if file.users is not None:
                file.users.close()

    def before_fork(self) -> None:
        """Wait until no thread changes the file: a child could neither end that nor close it."""
        self._opening.acquire()
        if self._writer is not None:
            self._writer.writing.acquire()

    def after_fork_in_parent(self) -> None:
        """Let the threads continue."""
        if self._writer is not None:
            self._writer.writing.release()
        self._opening.release()

    def after_fork(self) -> None:
        """In a child: let go of what the parent opened; the next call opens it again."""
        self._opening = Lock()
        self._writer = None
        file, self._file = self._file, None
        if file is not None:
            self._is_checked = True
            self._inherited_lock = file.users or self._inherited_lock  # shared while it is open
            with suppress(self._error):
                file.env.close()

    def _ensure(self) -> DiskFile | None:
        """Return the open file; the first call of a process opens it."""
        if self._file is not None or not self.is_open:
            return self._file
        with self._opening:
            if self._file is None and self.is_open:
                try:
                    file = open_file(self._folder, self._size, is_checked=self._is_checked)
                except DiskError as fault:
                    self._switch_off(str(fault))
                    return None
                share_lock(file.users)
                if file.thrown_away:
                    self._counts["thrown_away"] += 1
                    log().warning("%s: the cache was damaged and was removed", self._folder)
                self._writer = DiskWriter(file, self._size, self._asked, self._error)
                self._file = file
        return self._file

    def _add(self, records: list[tuple[bytes, bytes | None]]) -> None:
        if self._ensure() is not None and self._writer is not None:
            self._writer.add(records)

    def _switch_off(self, reason: str) -> None:
        self.is_open = False
        self.reason = reason
        log().warning("the cache on disk is not used: %s", reason)
