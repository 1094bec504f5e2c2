"""The work folder of a run: its lock, its plan, and the records of what is done."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import OptionError, OutputInUse
from tokenmill._files import UNFINISHED, remove_unfinished, write_file, writing
from tokenmill._mill.output.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORK = "_work"
MANIFEST = "manifest.json"
LOCK = ".lock"
INDEX = "index"
ORDER = "order.json"
DOCUMENTS = "documents.parquet"
QUARANTINE = "quarantine.jsonl"


class Work:
    """The paths in an output folder, and small records that are complete or absent."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.folder = output / WORK
        self.parts = self.folder / "parts"
        self.order = self.folder / "order"
        self.shards = self.folder / "shards"
        self.plan = self.folder / "plan.json"
        self.manifest = output / MANIFEST

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs away from the output while this one works."""
        if self.output.exists() and not self.output.is_dir():
            raise OptionError("expected a folder, got a file", where=str(self.output))
        with writing(self.output):
            self.output.mkdir(parents=True, exist_ok=True)
            lock = (self.output / LOCK).open("a")
        with lock as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise OutputInUse(
                    "another run is writing here",
                    where=str(self.output),
                    hint="wait for it, or choose another output",
                ) from error
            yield

    def sweep(self, formats: Sequence[str]) -> None:
        """Remove what a killed run left unfinished in its own folders."""
        for folder in (self.folder, *(self.output / name for name in (*formats, INDEX))):
            remove_unfinished(folder)
        for name in (MANIFEST, QUARANTINE, DOCUMENTS):
            (self.output / (name + UNFINISHED)).unlink(missing_ok=True)

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
        for folder in (self.order, self.shards, self.parts):
            shutil.rmtree(folder, ignore_errors=True)
        if not self.parts.exists():
            shutil.rmtree(self.folder, ignore_errors=True)


def _remove_files(folder: Path) -> None:
    """Remove the files of a folder, several at once: the system frees their memory meanwhile."""
    names = [entry.path for entry in os.scandir(folder)] if folder.is_dir() else []
    with ThreadPoolExecutor(min(len(names) + 1, os.cpu_count() or 1)) as pool:
        for name in names:
            pool.submit(os.unlink, name)  # what cannot be removed is left to rmtree


def write_json(path: Path, value: Any) -> None:
    """Write a record."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    write_file(path, text.encode("utf-8", "backslashreplace"))  # names that are not UTF-8


def read_json(path: Path) -> Any:
    """Read a record."""
    return json.loads(path.read_bytes())


def records(folder: Path) -> Iterator[Any]:
    """Yield all records of a folder, sorted by name."""
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*.json")):
        yield read_json(path)
