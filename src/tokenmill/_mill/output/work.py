"""The work folder of a run: its lock, its plan, and the records of what is done.

Runs ask here for everything that other runs and other machines see. `StagedWork` answers the same
for an output in a store.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tokenmill._errors import OptionError, OutputInUse
from tokenmill._files import UNFINISHED, create_once, remove_unfinished, write_file, writing
from tokenmill._mill.output.manifest import Manifest
from tokenmill._platform.locks import lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokenmill._files import FileRecord

WORK = "_work"
MANIFEST = "manifest.json"
LOCK = ".lock"
INDEX = "index"
ORDER = "order.json"
PLAN = "plan.json"
HEARTBEAT = "heartbeat.json"
RANKS = "ranks"
DOCUMENTS = "documents.parquet"
QUARANTINE = "quarantine.jsonl"


class Work:
    """The paths in an output folder, and small records that are complete or absent."""

    is_remote = False  # whether every look at a record costs a request

    def __init__(self, output: Path) -> None:
        self.output = output
        self.folder = output / WORK
        self.parts = self.folder / "parts"
        self.order = self.folder / "order"
        self.shards = self.folder / "shards"
        self.ranks = self.folder / RANKS
        self.plan = self.folder / PLAN
        self.manifest = output / MANIFEST

    @property
    def where(self) -> str:
        """The output, as people call it."""
        return str(self.output)

    def is_finished(self) -> bool:
        """Return whether the manifest is there."""
        return self.manifest.exists()

    def read_manifest(self) -> Manifest:
        """Return the manifest of the finished output."""
        return Manifest.load(self.output)

    def write_manifest(self, data: dict[str, Any]) -> Manifest:
        """Write the manifest, after everything else."""
        write_json(self.manifest, data)
        return Manifest(self.output, data)

    def read_record(self, name: str) -> Any:
        """Return a record by its path in the work folder; None if there is none."""
        try:
            return read_json(self.folder / name)
        except FileNotFoundError:
            return None

    def write_record(self, name: str, value: Any) -> None:
        """Write a record, or replace it."""
        write_json(self.folder / name, value)

    def create_record(self, name: str, value: Any) -> bool:
        """Write a record unless there is one; return whether this call has written it."""
        return create_once(self.folder / name, to_json(value))

    def record_names(self, folder: str) -> list[str]:
        """List the records in a folder of the work folder."""
        return sorted(path.name for path in (self.folder / folder).glob("*.json"))

    def deliver(
        self, files: Sequence[Mapping[str, Any]], then: Callable[[], None] | None = None
    ) -> None:
        """Take finished files: `path` in the output and `bytes`. `then` runs when they are safe.

        In a folder they are safe already. Where that takes time, it may be later, in a thread.
        """
        del files
        if then is not None:
            then()

    def settle(self) -> None:
        """Wait until everything that was delivered is safe."""

    def stop_deliveries(self) -> None:
        """Leave out what is not begun: nothing is written any more after this."""

    def holds(self, path: str, size: int) -> bool:
        """Return whether a file of the output is there and has its size."""
        try:
            return (self.output / path).stat().st_size == size
        except OSError:
            return False

    @contextmanager
    def locked(self, *, shared: bool = False) -> Iterator[None]:
        """Keep other runs away from the output while this one works.

        The ranks of one run share the lock. It reaches other machines on some file systems only, so
        nothing but a clear error depends on it.
        """
        if self.output.exists() and not self.output.is_dir():
            raise OptionError("expected a folder, got a file", where=str(self.output))
        with self._open_lock(shared=shared):
            yield

    def _open_lock(self, *, shared: bool) -> IO[str]:
        """Return the locked file; again, if another process has removed the folder meanwhile."""
        path = self.output / LOCK
        while True:
            with writing(self.output):
                self.output.mkdir(parents=True, exist_ok=True)
                try:
                    file = path.open("a+")
                except FileNotFoundError:
                    continue
            try:
                self._lock(file, shared=shared)
            except BaseException:
                file.close()
                raise
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    return file
            file.close()

    def _lock(self, file: IO[str], *, shared: bool) -> None:
        try:
            lock(file, shared=shared, wait=False)
        except OSError as error:
            if shared and not isinstance(error, BlockingIOError):
                return  # the file system has no locks, and ranks need none
            raise OutputInUse(
                "another run is writing here",
                where=self.where,
                hint="wait for it, or choose another output",
            ) from error

    def sweep(self, formats: Sequence[str]) -> None:
        """Remove what a killed run left unfinished in its own folders."""
        for folder in (self.folder, *(self.output / name for name in (*formats, INDEX))):
            remove_unfinished(folder)
        for name in (MANIFEST, QUARANTINE, DOCUMENTS):
            for left in self.output.glob(f"{name}*{UNFINISHED}"):
                left.unlink(missing_ok=True)

    def facts(self) -> dict[str, Any] | None:
        """Return the facts of the output's plan; None if there is no plan."""
        if self.manifest.exists():
            found: dict[str, Any] = Manifest.load(self.output).data["plan"]
            return found
        return read_json(self.plan) if self.plan.exists() else None

    def owns(self, path: str) -> bool:
        """Return whether a run writes, or has written, this file."""
        if not self._own_names:
            return False
        resolved, output = Path(path).resolve(), self.output.resolve()
        if not resolved.is_relative_to(output):
            return False
        return resolved.relative_to(output).parts[0] in self._own_names

    @cached_property
    def _own_names(self) -> frozenset[str]:
        facts = self.facts()
        if facts is None:
            return frozenset()
        return frozenset((*facts["options"]["formats"], INDEX, MANIFEST, QUARANTINE, DOCUMENTS))

    def clear(self) -> None:
        """Remove everything that an earlier run made, so that the next one starts over.

        Only what is known to be ours is removed: the folders of the formats in its plan.
        """
        facts = self.facts()
        if facts is None:
            return
        if not self.plan.exists():
            write_json(
                self.plan, facts
            )  # a finished run has none, and the manifest is removed first
        self.manifest.unlink(missing_ok=True)
        for name in (*facts["options"]["formats"], INDEX):
            shutil.rmtree(self.output / name, ignore_errors=True)
        for name in (QUARANTINE, DOCUMENTS):
            (self.output / name).unlink(missing_ok=True)
        self.finish()

    def refuse_strangers(self, formats: Sequence[str]) -> None:
        """Raise OutputInUse if a folder that the run needs holds files of another origin."""
        for name in (*formats, INDEX):
            folder = self.output / name
            if self.facts() is None and folder.is_dir() and any(folder.iterdir()):
                raise OutputInUse(
                    "holds files that tokenmill did not write",
                    where=str(folder),
                    hint="choose another output, or move them away",
                )

    def finish(self) -> None:
        """Remove the work folder: the manifest has everything that is kept.

        The plan is removed last. While it is there, no other command uses what is left, and an
        interrupted removal is continued.
        """
        (self.order / ORDER).unlink(missing_ok=True)
        _remove_files(self.parts)
        for folder in (self.order, self.shards, self.parts, self.ranks):
            shutil.rmtree(folder, ignore_errors=True)
        if not self.parts.exists():
            shutil.rmtree(self.folder, ignore_errors=True)


def as_deliveries(files: Sequence[FileRecord]) -> list[dict[str, Any]]:
    """Return finished files, with paths in the output, as `deliver` takes them."""
    return [{"path": file.path, "bytes": file.bytes} for file in files]


def _remove_files(folder: Path) -> None:
    """Remove the files of a folder, several at once: the system frees their memory meanwhile."""
    names: list[str] = []
    with contextlib.suppress(FileNotFoundError):  # another rank may be removing it too
        names += (entry.path for entry in os.scandir(folder))
    with ThreadPoolExecutor(min(len(names) + 1, os.cpu_count() or 1)) as pool:
        for name in names:
            pool.submit(os.unlink, name)  # what cannot be removed is left to rmtree


def write_json(path: Path, value: Any) -> None:
    """Write a record."""
    write_file(path, to_json(value))


def to_json(value: Any) -> bytes:
    """Return the bytes of a record."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")  # names that are not UTF-8


def read_json(path: Path) -> Any:
    """Read a record."""
    return json.loads(path.read_bytes())


def records(folder: Path) -> Iterator[Any]:
    """Yield all records of a folder, sorted by name."""
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*.json")):
        yield read_json(path)
