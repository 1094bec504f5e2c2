"""The work folder of a run: its lock, its plan, and the records of what is done."""

from __future__ import annotations

import fcntl
import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tokenmill._errors import OutputInUse
from tokenmill._files import remove_unfinished, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORK = "_work"
MANIFEST = "manifest.json"


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
        with (self.output / ".lock").open("a") as file:
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

    def clear(self) -> None:
        """Remove everything that a run made, so that the next one starts over."""
        for path in (self.manifest, self.output / "quarantine.jsonl"):
            path.unlink(missing_ok=True)  # the manifest first: without it nothing looks finished
        (self.output / "documents.parquet").unlink(missing_ok=True)
        for path in self.output.iterdir() if self.output.is_dir() else ():
            if path.is_dir():
                shutil.rmtree(path)

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
