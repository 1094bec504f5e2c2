"""Finished shards of any format, read back: rows without their padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._files import checksum
from tokenmill._mirror import here
from tokenmill._pack.rows import Rows
from tokenmill._write import find_format, read_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._write import ShardIndex

_BATCH_IDS = 1 << 20  # read at once, padding included


@dataclass(frozen=True)
class StoredShard:
    """A shard of a finished output; `formats` are its entries in the manifest, by format."""

    folder: Path
    split: str
    file_split: str  # the part of file names that names the split
    number: int
    rows: int
    documents: int
    index_path: str
    dtype: str
    context_length: int | None
    formats: dict[str, dict[str, Any]]

    @property
    def name(self) -> str:
        """The name of the shard in messages."""
        return f"{self.split} shard {self.number}"

    @property
    def format_to_read(self) -> str:
        """The format whose rows are the quickest to read."""
        return "bin" if "bin" in self.formats else next(iter(self.formats))

    def bytes_before(self, row: int) -> int:
        """Return about how many bytes, of the files that are read, hold the rows before this."""
        size = sum(file["bytes"] for file in self.formats[self.format_to_read]["files"])
        return int(size * row // self.rows) if self.rows else 0

    def index(self, *, check: bool = False) -> ShardIndex:
        """Map the index."""
        return read_index(here(self.folder / self.index_path), check=check)

    def width(self, form: str) -> int | None:
        """Return the length that rows of a format are padded to; None if no row is padded."""
        return self.context_length if self.formats[form]["padding"] else None

    def refuse_damage(self, form: str) -> None:
        """Raise CorruptShard unless the files of a format, and the index, have their checksums."""
        for file in self.formats[form]["files"]:
            path = here(self.folder / file["path"])
            found = checksum(path) if path.is_file() else "no such file"
            if found != file["checksum"]:
                raise CorruptShard(
                    f"expected the manifest's {file['checksum']}, got {found}",
                    path=path,
                    hint="`tokenmill verify` lists everything that is wrong",
                )


def stored_shards(manifest: Manifest) -> list[StoredShard]:
    """Return the shards of an output, split by split, in order."""
    data = manifest.data
    groups: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    try:
        for entry in data["shards"]:
            groups.setdefault((entry["split"], entry["number"]), {})[entry["format"]] = entry
        return [_stored(manifest, split, entries) for (split, _), entries in groups.items()]
    except (KeyError, TypeError) as error:
        raise CorruptShard(
            f"not a manifest of this version: {error!r}", path=manifest.folder / "manifest.json"
        ) from error


def _stored(manifest: Manifest, split: str, entries: dict[str, dict[str, Any]]) -> StoredShard:
    data, first = manifest.data, next(iter(entries.values()))
    return StoredShard(
        folder=manifest.folder,
        split=split,
        file_split=split if data["options"]["validation"] else "",
        number=first["number"],
        rows=first["rows"],
        documents=first["documents"],
        index_path=first["index"],
        dtype=data["dtype"],
        context_length=data["context_length"],
        formats=entries,
    )


class IdReader:
    """The ids of a shard between two positions; cheap if mapped, or if read forwards."""

    def __init__(self, shard: StoredShard, form: str) -> None:
        self._shard, self._form = shard, form
        for file in shard.formats[form]["files"]:
            here(shard.folder / file["path"])
        self._path = shard.folder / shard.formats[form]["path"]
        self._mapped = find_format(form).map_ids(
            shard.folder / form, shard.number, dtype=shard.dtype, split=shard.file_split
        )
        self._chunks: Iterator[NDArray[Any]] = iter(())
        self._held: NDArray[Any] = np.empty(0, shard.dtype)
        self._at = 0  # the position of the first id in `_held`
        self._rewind()

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return ids, padding included."""
        if self._mapped is not None:
            ids: NDArray[Any] = np.ascontiguousarray(self._mapped[begin:end], self._shard.dtype)
        else:
            ids = self._gather(begin, end)
        if len(ids) != end - begin:
            raise CorruptShard(f"ends before id {end}", path=self._path)
        return ids

    def beyond(self, end: int) -> bool:
        """Return whether there are ids after this position."""
        if self._mapped is not None:
            return len(self._mapped) > end
        return len(self._gather(end, end + 1)) > 0

    def _gather(self, begin: int, end: int) -> NDArray[Any]:
        if begin < self._at:
            self._rewind()
        parts = [np.empty(0, self._shard.dtype)]
        while begin < end:
            while self._at + len(self._held) <= begin:
                self._at += len(self._held)
                held = next(self._chunks, None)
                if held is None:
                    return np.concatenate(parts)
                self._held = held
            part = self._held[begin - self._at : end - self._at]
            parts.append(part)
            begin += len(part)
        return np.concatenate(parts)

    def _rewind(self) -> None:
        shard = self._shard
        self._chunks = find_format(self._form).read_shard(
            shard.folder / self._form, shard.number, dtype=shard.dtype, split=shard.file_split
        )
        self._held = np.empty(0, shard.dtype)
        self._at = 0


class RowReader:
    """The rows of a shard, some at a time, as they were packed."""

    def __init__(self, shard: StoredShard, form: str) -> None:
        self.index = shard.index()
        self._ids = IdReader(shard, form)
        self._width = shard.width(form)

    def rows(self, begin: int, end: int) -> Iterator[Rows]:
        """Yield rows in order, about a million ids at a time."""
        stored = stored_offsets(self.index, self._width)
        while begin < end:
            stop = int(np.searchsorted(stored, stored[begin] + _BATCH_IDS, side="right")) - 1
            stop = min(max(stop, begin + 1), end)
            ids = self._ids.read(int(stored[begin]), int(stored[stop]))
            lengths = np.diff(self.index.row_offsets[begin : stop + 1])
            yield Rows(
                without_padding(ids, lengths, self._width), self.index.pieces.some_rows(begin, stop)
            )
            begin = stop


def stored_offsets(index: ShardIndex, width: int | None) -> NDArray[np.int64]:
    """Return where each row starts among the stored ids, and where the last one ends."""
    if width is None:
        return index.row_offsets
    return np.arange(index.rows + 1, dtype=np.int64) * width


def without_padding(
    ids: NDArray[Any], lengths: NDArray[np.int64], width: int | None
) -> NDArray[Any]:
    """Return the tokens of rows that are stored back to back."""
    if width is None or len(ids) == int(lengths.sum()):
        return ids
    return ids[token_mask(lengths, width)]


def token_mask(lengths: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
    """Return for each stored id whether it is a token; the others are padding."""
    mask: NDArray[np.bool_] = np.arange(width) < lengths[:, None]
    return mask.reshape(-1)
