"""Finished outputs -> rows: the manifest, and shards mapped into memory when they are touched."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard, OptionError, SourceNotFound
from tokenmill._rows import Pieces, Rows
from tokenmill._write.index import read_index

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._write.index import ShardIndex

DTYPES = {"uint16": "<u2", "uint32": "<u4"}


@dataclass(frozen=True)
class ShardFile:
    """A shard as the manifest has it."""

    path: Path
    index: Path
    rows: int
    dtype: str
    context_length: int | None


@dataclass(frozen=True)
class Output:
    """The shards of one split of a finished output."""

    folder: Path
    context_length: int | None
    pad_id: int | None
    shards: tuple[ShardFile, ...]

    @property
    def rows(self) -> int:
        """How many rows all shards have."""
        return sum(shard.rows for shard in self.shards)


def read_output(folder: Path, split: str | None) -> Output:
    """Read the manifest of an output; without a split it must have only one."""
    path = folder / "manifest.json"
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        hint = "give the folder of a finished `tokenmill pack`; the same command resumes one"
        raise SourceNotFound("no manifest.json here", source=str(folder), hint=hint) from error
    except ValueError as error:
        raise CorruptShard(f"expected JSON, got {error}", path=path) from error
    try:
        records = _chosen(data["shards"], split, folder)
        dtype, length = data["dtype"], data["context_length"]
        shards = tuple(
            ShardFile(folder / r["path"], folder / r["index"], r["rows"], dtype, length)
            for r in records
        )
        return Output(folder, length, data.get("pad_id"), shards)
    except (KeyError, TypeError) as error:
        raise CorruptShard(f"no manifest of this version: {error!r}", path=path) from error


def _chosen(records: list[dict[str, Any]], split: str | None, folder: Path) -> list[dict[str, Any]]:
    """Return the shards of the split in the format that can be mapped."""
    splits = sorted({str(record["split"]) for record in records})
    if (split is None and len(splits) > 1) or (split is not None and split not in splits):
        problem = f"expected one of the splits {', '.join(map(repr, splits))}, got {split!r}"
        raise OptionError(problem, where="split", hint="choose one with split=")
    formats = sorted({str(record["format"]) for record in records})
    if records and "bin" not in formats:
        problem = f"expected shards of the format 'bin', got {', '.join(formats)}"
        hint = "add 'bin' to the formats, or run `tokenmill convert`"
        raise OptionError(problem, where=str(folder), hint=hint)
    return [r for r in records if r["format"] == "bin" and split in (None, r["split"])]


class Shards:
    """The rows of all shards, numbered through; maps are dropped when it is pickled."""

    def __init__(self, files: Sequence[ShardFile]) -> None:
        self._files = tuple(files)
        self._ends = np.cumsum([shard.rows for shard in files], dtype=np.int64)
        self._firsts = self._ends - [shard.rows for shard in files]
        self._dtype = max((DTYPES[shard.dtype] for shard in files), default="<u2")
        self._open: dict[int, _OpenShard] = {}

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def read(self, rows: NDArray[np.int64]) -> Rows:
        """Return some rows in the order given, without padding."""
        numbers = np.searchsorted(self._ends, rows, side="right")
        inside = rows - self._firsts[numbers]
        parts = [self._shard(int(number)) for number in numbers]
        pieces = _joined([part.index for part in parts], inside.tolist())
        lengths = pieces.row_lengths
        ids = np.empty(int(lengths.sum()), self._dtype)
        end = 0
        for part, row, length in zip(parts, inside.tolist(), lengths.tolist(), strict=True):
            first = part.begin(row)
            ids[end : end + length] = part.ids[first : first + length]
            end += length
        return Rows(ids, pieces)

    def _shard(self, number: int) -> _OpenShard:
        if number not in self._open:
            self._open[number] = _OpenShard(self._files[number])
        return self._open[number]

    def __getstate__(self) -> tuple[ShardFile, ...]:
        return self._files

    def __setstate__(self, files: tuple[ShardFile, ...]) -> None:
        self.__init__(files)  # type: ignore[misc]


class _OpenShard:
    """A shard's ids and its index, mapped."""

    def __init__(self, file: ShardFile) -> None:
        # Its checksum is for `verify`: to read the whole index here would cost the start of a run.
        self.index: ShardIndex = read_index(file.index, check=False)
        self.ids = _mapped(file)
        # Rows lie back to back, or each is padded to the context length.
        self._width = None if len(self.ids) == self.index.tokens else file.context_length
        stored = self.index.tokens if self._width is None else self._width * file.rows
        if self.index.rows != file.rows or len(self.ids) != stored:
            problem = f"{file.rows} rows of {self.index.tokens} tokens were expected"
            raise CorruptShard(f"{problem}, got {len(self.ids)} ids", path=file.path)

    def begin(self, row: int) -> int:
        """Return where a row's ids begin in the file."""
        return int(self.index.row_offsets[row]) if self._width is None else row * self._width


def _mapped(file: ShardFile) -> NDArray[Any]:
    dtype = np.dtype(DTYPES[file.dtype])
    try:
        size = file.path.stat().st_size
    except FileNotFoundError as error:
        raise CorruptShard("no such file", path=file.path) from error
    if size % dtype.itemsize:
        raise CorruptShard(f"{size} bytes are no whole {file.dtype} ids", path=file.path)
    return np.memmap(file.path, dtype, "r") if size else np.empty(0, dtype)


def _joined(indexes: list[ShardIndex], rows: list[int]) -> Pieces:
    """Take one row out of each index."""
    bounds = [slice(*index.row_pieces[r : r + 2]) for index, r in zip(indexes, rows, strict=True)]
    counts = [bound.stop - bound.start for bound in bounds]

    def joined(name: str) -> NDArray[np.int64]:
        pairs = zip(indexes, bounds, strict=True)
        parts = [getattr(index, name)[bound] for index, bound in pairs]
        return np.concatenate([np.empty(0, np.int64), *parts])

    row_pieces = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))
    return Pieces(joined("documents"), joined("begins"), joined("lengths"), row_pieces)
