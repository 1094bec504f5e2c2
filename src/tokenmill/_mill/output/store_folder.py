"""A folder of a store: objects by their names in it, which are whole or absent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._errors import ObjectChanged, ObjectNotFound
from tokenmill._files import unfinished_path, writing
from tokenmill._platform.files import replace
from tokenmill._store import delete_many, find, get, get_whole, list_objects, put, put_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tokenmill._store import Address, ObjectInfo

_RANGE = 32 << 20  # bytes that are fetched by one request


@dataclass(frozen=True)
class StoreFolder:
    """Objects below an address. Requests are repeated and counted by `_store`."""

    address: Address

    def __str__(self) -> str:
        return str(self.address)

    def __truediv__(self, name: str) -> StoreFolder:
        return StoreFolder(self.address / name)

    def find(self, name: str) -> ObjectInfo | None:
        """Return what the store says about an object; None if there is none."""
        return find(self.address / name)

    def read(self, name: str) -> tuple[bytes, ObjectInfo] | None:
        """Return the bytes of a small object and their version; None if there is none."""
        try:
            data, info = get_whole(self.address / name)
        except ObjectNotFound:
            return None
        return bytes(data), info

    def read_json(self, name: str) -> Any:
        """Return a record; None if there is none."""
        found = self.read(name)
        return None if found is None else json.loads(found[0])

    def write(self, name: str, data: bytes) -> None:
        """Write a small object, or replace it."""
        put(self.address / name, data)

    def create(self, name: str, data: bytes) -> bool:
        """Write a small object unless there is one; return whether this call has written it.

        Of several processes, on any machine, exactly one gets True. If an answer was lost on the
        way, the object is ours if it has our bytes: so claims carry who made them.
        """
        try:
            put(self.address / name, data, create=True)
        except ObjectChanged:
            return False
        return True

    def replace(self, name: str, data: bytes, before: ObjectInfo) -> ObjectInfo | None:
        """Replace that version of an object; return the new one, None if it is another now."""
        try:
            info = put(self.address / name, data, replaces=before)
        except (ObjectChanged, ObjectNotFound):
            return None
        return info if info is not None else self.find(name)

    def upload(self, name: str, path: Path) -> None:
        """Write a file of this machine; the object has its name when all bytes are there."""
        put_file(self.address / name, path)

    def fetch(self, name: str, path: Path, begin: int, end: int) -> None:
        """Write some bytes of an object to a file of this machine, which is whole or absent."""
        unfinished = unfinished_path(path)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with unfinished.open("wb") as file:
                    for first in range(begin, end, _RANGE):
                        file.write(get(self.address / name, first, min(first + _RANGE, end)))
                replace(unfinished, path)
            finally:
                unfinished.unlink(missing_ok=True)

    def list(self, folder: str = "") -> Iterator[tuple[str, ObjectInfo]]:
        """Yield all objects of a folder, at any depth, by their names in it, sorted."""
        below = self.address / folder if folder else self.address
        start = len(below.key) + 1 if below.key else 0
        for info in list_objects(below):
            yield info.address.key[start:], info

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, if they are still there."""
        delete_many(self.address / name for name in names)

    def remove_folder(self, folder: str) -> None:
        """Remove everything in a folder."""
        self.remove(f"{folder}/{name}" for name, _ in self.list(folder))
