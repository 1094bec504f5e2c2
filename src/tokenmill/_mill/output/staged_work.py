"""The work folder of an output in a store.

    <store>/_work/plan.json        what is written here, from the start of the run to its end
    <store>/_work/heartbeat.json   the newest heartbeat, and who may write
    <folder>/                      a folder of this machine: parts, records, files before upload

A file is made in the folder, uploaded, checked and removed there. An object has its name when all
its bytes are there, so nothing in the store is ever half a file. The manifest is put last.
"""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from tokenmill._cache_folder import cache_folder
from tokenmill._errors import OutputInUse, SourceNotFound
from tokenmill._mill.output.manifest import Manifest
from tokenmill._mill.output.process_facts import is_gone
from tokenmill._mill.output.store_lease import StoreLease, refuse_if_it_moves
from tokenmill._mill.output.uploads import Uploads
from tokenmill._mill.output.work import (
    DOCUMENTS,
    HEARTBEAT,
    INDEX,
    LOCK,
    MANIFEST,
    PLAN,
    QUARANTINE,
    WORK,
    Work,
    to_json,
)
from tokenmill._platform.locks import lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tokenmill._mill.output.store_folder import StoreFolder

BEATS = "ranks/beats"
OF_RANK = "-rank-"  # in the name of a folder, before the name of its owner
_RANKS_SECONDS = 15.0  # ranks show that they live every ten


class StagedWork(Work):
    """Parts and records are in a folder of this machine, files go to the store."""

    is_remote = True

    def __init__(self, store: StoreFolder, folder: Path) -> None:
        super().__init__(folder)
        self.store = store
        self.shared = store / WORK  # what others see of the work
        self.lease = StoreLease(self.shared, str(store))
        self._uploads = Uploads()
        self._is_over = False
        self._has_begun = False  # there is a plan of this run, to be resumed if it fails
        self._known: dict[str, int] | None = None  # sizes of files in the store
        self._listing = threading.Lock()
        self._name = folder.name.partition(OF_RANK)[0]  # of all folders of this output

    @property
    def where(self) -> str:
        """The output, as people call it."""
        return str(self.store)

    def is_finished(self) -> bool:
        """Return whether the manifest is there."""
        return self.store.find(MANIFEST) is not None

    def read_manifest(self) -> Manifest:
        """Return the manifest of the finished output."""
        if cache_folder() is not None:
            return Manifest.load(self.where)
        data = self._read_manifest()
        if data is None:
            raise SourceNotFound("no manifest.json here", source=self.where)
        return Manifest(self.output, data, address=self.where)

    def _read_manifest(self) -> dict[str, Any] | None:
        found = self.store.read(MANIFEST)
        return None if found is None else Manifest.parse(found[0], f"{self.where}/{MANIFEST}")

    def write_manifest(self, data: dict[str, Any]) -> Manifest:
        """Put the manifest, after everything else."""
        self.lease.check()
        self.store.write(MANIFEST, to_json(data))
        return self.read_manifest()

    # Records: the plan is also in the store, and the one there decides.

    def read_record(self, name: str) -> Any:
        """Return a record by its path in the work folder; None if there is none."""
        return self.shared.read_json(name) if name == PLAN else super().read_record(name)

    def create_record(self, name: str, value: Any) -> bool:
        """Write a record unless there is one; return whether this call has written it."""
        if name != PLAN:
            return super().create_record(name, value)
        if super().read_record(PLAN) != json.loads(to_json(value)):
            self._remove_folder()  # parts of another plan
            super().write_record(PLAN, value)
        self._has_begun = True
        return self.shared.create(PLAN, to_json(value))

    # Files

    def deliver(
        self, files: Sequence[Mapping[str, Any]], then: Callable[[], None] | None = None
    ) -> None:
        """Upload finished files in the background. `then` runs when the store has them."""
        self.lease.check()
        self._uploads.add(lambda: self._send(files, then))

    def _send(self, files: Sequence[Mapping[str, Any]], then: Callable[[], None] | None) -> None:
        for file in files:
            self.store.upload(file["path"], self.output / file["path"])
            self._sizes()[file["path"]] = file["bytes"]
        if then is not None:
            then()
        for file in files:
            (self.output / file["path"]).unlink(missing_ok=True)

    def settle(self) -> None:
        """Wait until the store has everything that was delivered."""
        self._uploads.settle()

    def stop_deliveries(self) -> None:
        """Leave out uploads that have not begun, and wait for the others."""
        self._uploads.stop()

    def holds(self, path: str, size: int) -> bool:
        """Return whether the store has a file of the output, with its size."""
        return self._sizes().get(path) == size

    def _sizes(self) -> dict[str, int]:
        """Return the files of the output, as a listing showed them, and those uploaded since."""
        with self._listing:
            if self._known is None:
                self._known = {name: info.size for name, info in self.store.list()}
            return self._known

    # The beginning and the end

    @contextmanager
    def locked(self, *, shared: bool = False) -> Iterator[None]:
        """Keep other runs away from the output while this one works."""
        with super().locked(shared=shared):
            self._begin()
            try:
                yield
            finally:
                self.stop_deliveries()
                self._end()
        if self._is_over:
            shutil.rmtree(self.output, ignore_errors=True)

    def _begin(self) -> None:
        self._refuse_living_ranks()
        self.lease.take()

    def _end(self) -> None:
        self.lease.end(keep=self._has_begun)

    def _refuse_living_ranks(self) -> None:
        """Raise OutputInUse if ranks write here. Of those on other machines only silence tells."""
        before = self._beats()
        living = [name for name in before if not name.endswith(".ended")]
        states = (self.shared.read_json(f"{BEATS}/{name}") for name in living)
        if any(state is not None and not is_gone(state) for state in states):
            refuse_if_it_moves(self._beats, before, _RANKS_SECONDS, self.where)

    def _beats(self) -> list[str]:
        return [name for name, _ in self.shared.list(BEATS)]

    def facts(self) -> dict[str, Any] | None:
        """Return the facts of the output's plan; None if there is no plan."""
        manifest = self._read_manifest()
        if manifest is not None:
            found: dict[str, Any] = manifest["plan"]
            return found
        plan: dict[str, Any] | None = self.shared.read_json(PLAN)
        return plan

    def owns(self, path: str) -> bool:
        """Return whether a run writes, or has written, this file."""
        inside = self.where + "/"
        if not path.startswith(inside):
            return False
        return path.removeprefix(inside).partition("/")[0] in self._own_names

    def clear(self) -> None:
        """Remove everything that an earlier run made, so that the next one starts over."""
        facts = self.facts()
        if facts is not None:
            self.shared.create(PLAN, to_json(facts))  # a finished run has none
            self.store.remove([MANIFEST])
            for name in (*facts["options"]["formats"], INDEX):
                self.store.remove_folder(name)
            self.store.remove([QUARANTINE, DOCUMENTS])
            self._remove_shared(keep=HEARTBEAT)
        self._remove_folder()
        self._known = None
        self._has_begun = False

    def refuse_strangers(self, formats: Sequence[str]) -> None:
        """Raise OutputInUse if a folder that the run needs holds objects of another origin."""
        if self.facts() is not None:
            return
        for name in (*formats, INDEX):
            if next(self.store.list(name), None) is not None:
                raise OutputInUse(
                    "holds objects that tokenmill did not write",
                    where=f"{self.where}/{name}",
                    hint="choose another output, or move them away",
                )

    def finish(self) -> None:
        """Remove the work: the manifest has everything that is kept. The plan goes last."""
        self.lease.give_up()
        self._is_over = True
        self._remove_shared()
        self._remove_folder()
        remove_unlocked(self.output.parent, f"{self._name}*")

    def _remove_shared(self, keep: str = "") -> None:
        names = [name for name, _ in self.shared.list()]
        self.shared.remove(name for name in names if name not in (PLAN, keep))
        self.shared.remove(name for name in names if name == PLAN)

    def _remove_folder(self) -> None:
        """Remove everything of this machine but the lock."""
        for path in self.output.iterdir() if self.output.is_dir() else ():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK:
                path.unlink(missing_ok=True)


class SharedWork(StagedWork):
    """The work of ranks: all records are in the store; the folder is for one rank alone."""

    def read_record(self, name: str) -> Any:
        """Return a record by its path in the work folder; None if there is none."""
        return self.shared.read_json(name)

    def write_record(self, name: str, value: Any) -> None:
        """Write a record, or replace it."""
        self.shared.write(name, to_json(value))

    def create_record(self, name: str, value: Any) -> bool:
        """Write a record unless there is one; return whether this call has written it."""
        return self.shared.create(name, to_json(value))

    def record_names(self, folder: str) -> list[str]:
        """List the records in a folder of the work folder."""
        return [name for name, _ in self.shared.list(folder) if name.endswith(".json")]

    def holds(self, path: str, size: int) -> bool:
        """Return whether the store has a file of the output, with its size."""
        if self._sizes().get(path) == size:
            return True
        info = self.store.find(path)  # another rank may have put it since
        return info is not None and info.size == size

    @contextmanager
    def locked(self, *, shared: bool = False) -> Iterator[None]:
        """Refuse an output to which a run without ranks writes."""
        del shared  # no other rank has this folder
        remove_unlocked(self.output.parent, f"{self._name}{OF_RANK}*")
        with super().locked():
            yield

    def _lock(self, file: IO[str], *, shared: bool) -> None:
        del shared
        with suppress(OSError):  # a file system without locks
            # Only another rank that looks for dead ones may have it, for a moment.
            lock(file)

    def _begin(self) -> None:
        self.lease.refuse_a_living_run()

    def _end(self) -> None:
        self._is_over = True  # what others need is in the store


def remove_unlocked(base: Path, pattern: str) -> None:
    """Remove folders of runs that were killed: nobody has their locks.

    One that has no lock file was killed while it removed itself, or begins at this moment, and
    notices that its lock is gone.
    """
    for folder in base.glob(pattern):
        with suppress(OSError), (folder / LOCK).open("a") as file:
            lock(file, wait=False)
            shutil.rmtree(folder, ignore_errors=True)
