"""Parts in a store: ranks put them there for each other, and fetch what they need.

    <store>/_work/parts/<part>.tokens    its file, and
    <store>/_work/parts/<part>.json      its record, after it
    <store>/_work/order/                 the order of documents, if it is not that of the plan

A rank keeps its own parts until it ends, and every part that it has fetched. What it needs of many
parts, the lengths and places of documents, is at their end and is fetched alone.
"""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from tokenmill._files import unfinished_path
from tokenmill._mill.output.part_shelf import PartShelf
from tokenmill._mill.output.parts import Part, PartRecord, part_name
from tokenmill._mill.output.work import ORDER, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenmill._mill.output.staged_work import SharedWork
    from tokenmill._mill.output.store_folder import StoreFolder

_PARTS, _ORDER = "parts", "order"
_AT_ONCE = 16


@dataclass(frozen=True)
class StoredPart(Part):
    """A part of any rank; it is fetched when it is first used."""

    store: StoreFolder | None = None
    lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    @property
    def path(self) -> Path:
        """The part's file, on this machine."""
        whole = self.folder / f"{self.record.name}.tokens"
        with self.lock:
            if not whole.exists():
                self._fetch(whole, 0)
        return whole

    def rest(self) -> tuple[Path, int]:
        """Return a file with all sections but the ids, and where in the part it begins."""
        whole = self.folder / f"{self.record.name}.tokens"
        if whole.exists():
            return whole, 0
        begin = self.record.sections["ids"][1]
        rest = self.folder / f"{self.record.name}.rest"
        with self.lock:
            if not rest.exists():
                self._fetch(rest, begin)
        return rest, begin

    def _fetch(self, path: Path, begin: int) -> None:
        assert self.store is not None  # noqa: S101
        self.store.fetch(f"{_PARTS}/{self.record.name}.tokens", path, begin, self.record.bytes)


class StoredPartShelf(PartShelf):
    """The parts of all ranks, in a store."""

    def __init__(self, work: SharedWork) -> None:
        super().__init__(work)
        self._shared = work.shared
        self._parts: dict[str, StoredPart] = {}  # one lock for each

    def read(self, stream: int, part: int) -> PartRecord | None:
        """Return the record of a part; None if there is none. Its file was there before it."""
        value = self._shared.read_json(f"{_PARTS}/{part_name(stream, part)}.json")
        try:
            return None if value is None else PartRecord(**value)
        except TypeError:  # of another version
            return None

    def share(self, record: PartRecord) -> None:
        """Let other ranks see a part that this one has committed."""
        name = f"{_PARTS}/{record.name}"
        self._shared.upload(f"{name}.tokens", self._work.parts / f"{record.name}.tokens")
        self._shared.write(f"{name}.json", to_json(asdict(record)))

    def part(self, record: PartRecord, dtype: str) -> Part:
        """Return a part of any rank."""
        made = StoredPart(self._work.parts, record, dtype, self._shared)
        return self._parts.setdefault(record.name, made)

    def fetch_columns(self, parts: Sequence[Part]) -> None:
        """Get everything but the ids of these parts, many at once: they will be read one by one."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            stored = (part for part in parts if isinstance(part, StoredPart))
            for _ in pool.map(StoredPart.rest, stored):
                pass

    def share_order(self) -> None:
        """Let other ranks see the order of documents that this one has found, if there is one."""
        folder = self._work.order
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        # The record last: without it, the others do not count.
        for name in sorted(names, key=lambda name: name == ORDER):
            self._shared.upload(f"{_ORDER}/{name}", folder / name)

    def fetch_order(self) -> None:
        """Get the order of documents, if there is one."""
        folder = self._work.order
        record = None if folder.exists() else self._shared.read(f"{_ORDER}/{ORDER}")
        if record is None:
            return
        own = unfinished_path(folder)
        own.mkdir(parents=True)
        try:
            (own / ORDER).write_bytes(record[0])
            names = [row[0] for rows in json.loads(record[0])["runs"].values() for row in rows]
            for name, info in self._shared.list(_ORDER):
                if name in names:
                    self._shared.fetch(f"{_ORDER}/{name}", own / name, 0, info.size)
            own.rename(folder)
        finally:
            shutil.rmtree(own, ignore_errors=True)
