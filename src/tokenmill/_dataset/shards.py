"""Finished outputs -> rows: the manifest, and shards mapped into memory when they are touched."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard, OptionError, SourceNotFound
from tokenmill._pack.rows import Pieces, Rows
from tokenmill._write import FORMATS, find_format, read_index

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._write import ShardIndex

DTYPES = {"uint16": "<u2", "uint32": "<u4"}
COMPRESSED = {"parquet"}


@dataclass(frozen=True)
class DatasetShard:
    """A shard as the manifest has it; `ids` counts padding too."""

    format: str
    folder: Path
    number: int
    split: str  # as names of files have it
    index: Path
    rows: int
    ids: int
    dtype: str
    context_length: int | None


@dataclass(frozen=True)
class Output:
    """The shards of one split of a finished output."""

    folder: Path
    context_length: int | None
    pad_id: int | None
    shards: tuple[DatasetShard, ...]

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
        in_splits = bool(data["options"]["validation"])
        shards = tuple(
            DatasetShard(
                format=record["format"],
                folder=folder / record["format"],
                number=record["number"],
                split=record["split"] if in_splits else "",
                index=folder / record["index"],
                rows=record["rows"],
                ids=record["tokens"],
                dtype=data["dtype"],
                context_length=data["context_length"],
            )
            for record in records
        )
        return Output(folder, data["context_length"], data.get("pad_id"), shards)
    except (KeyError, TypeError) as error:
        raise CorruptShard(f"no manifest of this version: {error!r}", path=path) from error


def _chosen(records: list[dict[str, Any]], split: str | None, folder: Path) -> list[dict[str, Any]]:
    """Return the shards of the split, in one of the formats that can be mapped."""
    splits = sorted({str(record["split"]) for record in records})
    if (split is None and len(splits) > 1) or (split is not None and split not in splits):
        problem = f"expected one of the splits {', '.join(map(repr, splits))}, got {split!r}"
        raise OptionError(problem, where="split", hint="choose one with split=")
    formats = {str(record["format"]) for record in records}
    chosen = next((name for name in FORMATS if name in formats - COMPRESSED), None)
    if records and chosen is None:
        problem = f"{', '.join(sorted(formats))} is compressed and cannot be mapped into memory"
        hint = "pack 'bin' beside it, or run `tokenmill convert`"
        raise OptionError(problem, where=str(folder), hint=hint)
    return [r for r in records if r["format"] == chosen and split in (None, r["split"])]


class Shards:
    """The rows of all shards, numbered through; maps are dropped when it is pickled."""

    def __init__(self, files: Sequence[DatasetShard]) -> None:
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
            ids[end : end + length] = part.row_ids(row, length)
            end += length
        return Rows(ids, pieces)

    def _shard(self, number: int) -> _OpenShard:
        if number not in self._open:
            self._open[number] = _OpenShard(self._files[number])
        return self._open[number]

    def __getstate__(self) -> tuple[DatasetShard, ...]:
        return self._files

    def __setstate__(self, files: tuple[DatasetShard, ...]) -> None:
        self.__init__(files)  # type: ignore[misc]


class _OpenShard:
    """A shard's ids and its index, mapped."""

    def __init__(self, file: DatasetShard) -> None:
        # Its checksum is for `verify`: to read the whole index here would cost the start of a run.
        self.index: ShardIndex = read_index(file.index, check=False)
        self._file = file
        self._runs = find_format(file.format).map_runs(
            file.folder, file.number, dtype=file.dtype, split=file.split
        )
        # Rows lie back to back, or each is padded to the context length.
        self._width = None if file.ids == self.index.tokens else file.context_length
        stored = self.index.tokens if self._width is None else self._width * file.rows
        if self.index.rows != file.rows or file.ids != stored:
            raise self._differs(f"got an index of {self.index.rows}")
        if len(self._runs.ids) == 1 and len(self._runs.ids[0]) != file.ids:
            raise self._differs(f"got {len(self._runs.ids[0])} ids")

    def row_ids(self, row: int, length: int) -> NDArray[Any]:
        """Return the ids of a row without its padding."""
        number = int(np.searchsorted(self._runs.first_rows, row, side="right")) - 1
        begin = self._begin(row) - self._begin(int(self._runs.first_rows[number]))
        ids = self._runs.ids[number][begin : begin + length]
        if len(ids) != length:
            raise self._differs(f"got {len(ids)} ids in row {row}")
        return ids

    def _begin(self, row: int) -> int:
        return int(self.index.row_offsets[row]) if self._width is None else row * self._width

    def _differs(self, problem: str) -> CorruptShard:
        file = self._file
        name = find_format(file.format).file_names(file.number, file.split)[0]
        expected = f"{file.rows} rows of {self.index.tokens} tokens were expected"
        return CorruptShard(f"{expected}, {problem}", path=file.folder / name)


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
