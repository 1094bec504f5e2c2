"""The work folder of a run: its lock, its plan, and the records of what is done."""

from __future__ import annotations

import fcntl
import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tokenmill._errors import OptionError, OutputInUse
from tokenmill._files import remove_unfinished, write_file
from tokenmill._write import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORK = "_work"
MANIFEST = "manifest.json"
LOCK = ".lock"


class Work:
    """Names below an output folder, and small records that are whole or not there."""

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
        """Keep other runs away from the output for as long as this one works."""
        self.output.mkdir(parents=True, exist_ok=True)
        with (self.output / LOCK).open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise OutputInUse(
                    "another run is writing here",
                    where=str(self.output),
                    hint="wait for it, or choose another output",
                ) from error
            yield

    def sweep(self) -> None:
        """Remove what a killed run left unfinished."""
        remove_unfinished(self.output)

    @property
    def is_own(self) -> bool:
        """Whether a run of ours has begun or finished here."""
        return self.manifest.exists() or self.plan.exists()

    def refuse_strangers(self) -> None:
        """Raise OptionError where the folder holds what no run of ours has put there."""
        if self.is_own or not self.output.is_dir():
            return
        names = sorted(path.name for path in self.output.iterdir() if path.name != LOCK)
        if names:
            raise OptionError(
                f"the folder holds other things, {names[0]} among them",
                where=str(self.output),
                hint="choose a new or empty folder",
            )

    def clear(self) -> None:
        """Remove everything that a run made, so that the next one starts over.

        Only of a folder that is an output, and only what outputs hold: a folder that was named by
        mistake loses nothing.
        """
        if not self.is_own:
            return
        if self.manifest.exists():  # from here on it looks unfinished, whenever this is stopped
            self.folder.mkdir(exist_ok=True)
            self.manifest.replace(self.plan)
        for name in ("quarantine.jsonl", "documents.parquet"):
            (self.output / name).unlink(missing_ok=True)
        for name in (*FORMATS, "index", WORK):
            shutil.rmtree(self.output / name, ignore_errors=True)

    def finish(self) -> None:
        """Remove the work folder: the manifest has all that lasts."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401
    """Write a record."""
    write_file(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Read a record."""
    return json.loads(path.read_bytes())


def records(folder: Path) -> Iterator[Any]:
    """Yield all records of a folder in the order of their names."""
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*.json")):
        yield read_json(path)
