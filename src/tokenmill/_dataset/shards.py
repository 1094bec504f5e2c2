"""Finished outputs -> rows: the manifest, and shards that are opened when a row is asked for.

Most formats are mapped into memory. Parquet is compressed: a row is read by decoding the row group
that holds it, about a million tokens, and the groups used last are kept.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard, Hint, Option, OptionError, SourceNotFound
from tokenmill._mirror import here, local_output, refuse_too_large
from tokenmill._pack.rows import Pieces, Rows
from tokenmill._write import FORMATS, find_format, read_index

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._write import ShardIndex

DTYPES = {"uint16": "<u2", "uint32": "<u4"}
# Decoded row groups that a process keeps: 64 Mi ids of uint32, or twice as many of uint16.
_DECODED_BYTES = 256 << 20


@dataclass(frozen=True)
class DatasetShard:
    """A shard, as listed in the manifest; `ids` counts padding too."""

    format: str
    folder: Path
    number: int
    split: str  # the part of file names that names it
    index: Path
    rows: int
    ids: int
    dtype: str
    context_length: int | None
    files: tuple[Path, ...]  # all that it needs, the index too


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


def read_output(output: str | os.PathLike[str], split: str | None) -> Output:
    """Read the manifest of an output; without a split it must have only one."""
    folder = local_output(output)
    path = folder / "manifest.json"
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        hint = "pass the folder of a finished `tokenmill pack`; the same command resumes one"
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
                files=tuple(folder / file["path"] for file in record.get("files", ())),
            )
            for record in records
        )
        needed = {f["path"]: f["bytes"] for record in records for f in record.get("files", ())}
        refuse_too_large(folder, sum(needed.values()))
        return Output(folder, data["context_length"], data.get("pad_id"), shards)
    except (KeyError, TypeError) as error:
        raise CorruptShard(f"not a manifest of this version: {error!r}", path=path) from error


def _chosen(records: list[dict[str, Any]], split: str | None, folder: Path) -> list[dict[str, Any]]:
    """Return the shards of the split in one format, one that can be mapped if there is any."""
    splits = sorted({str(record["split"]) for record in records})
    if (split is None and len(splits) > 1) or (split is not None and split not in splits):
        problem = f"expected one of the splits {', '.join(map(repr, splits))}, got {split!r}"
        raise OptionError(problem, where="split", hint=Hint("choose one with {}", Option("split")))
    formats = {str(record["format"]) for record in records}
    known = [name for name in FORMATS if name in formats]
    if records and not known:
        problem = f"no known format, got {', '.join(sorted(formats))}"
        raise CorruptShard(problem, path=folder / "manifest.json", hint="update tokenmill")
    chosen = next((name for name in known if FORMATS[name].is_mapped), known[0] if known else "")
    return [r for r in records if r["format"] == chosen and split in (None, r["split"])]


class _DecodedRuns:
    """The runs that were decoded last, up to a number of bytes but at least one."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._kept: dict[tuple[int, int], NDArray[Any]] = {}  # the oldest use first
        self._lock = threading.Lock()

    def get(self, key: tuple[int, int], decode: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return a run that was kept, or decode it and forget those not used for longest."""
        with self._lock:
            ids = self._kept.pop(key, None)
        if ids is None:
            ids = decode()
        with self._lock:
            self._kept[key] = ids
            size = sum(run.nbytes for run in self._kept.values())
            while size > self._most_bytes and len(self._kept) > 1:
                size -= self._kept.pop(next(iter(self._kept))).nbytes
        return ids


class Shards:
    """The rows of all shards, with consecutive numbers; pickling drops the mapped files."""

    def __init__(self, files: Sequence[DatasetShard]) -> None:
        self._files = tuple(files)
        self._ends = np.cumsum([shard.rows for shard in files], dtype=np.int64)
        self._firsts = self._ends - [shard.rows for shard in files]
        self._dtype = max((DTYPES[shard.dtype] for shard in files), default="<u2")
        self._open: dict[int, _OpenShard] = {}
        self._decoded = _DecodedRuns(_DECODED_BYTES)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def read(self, rows: NDArray[np.int64]) -> Rows:
        """Return some rows in the order given, without padding."""
        numbers = np.searchsorted(self._ends, rows, side="right")
        inside = rows - self._firsts[numbers]
        shards = [self._shard(int(number)) for number in numbers]
        found = zip(shards, inside.tolist(), strict=True)
        pieces = Pieces.join([shard.pieces.some_rows(row, row + 1) for shard, row in found])
        lengths = pieces.row_lengths
        ends = np.cumsum(lengths)
        ids = np.empty(int(lengths.sum()), self._dtype)
        # Sorted by place, so that a batch decodes each run at most once.
        for i in np.argsort(rows, kind="stable").tolist():
            length = int(lengths[i])
            ids[int(ends[i]) - length : int(ends[i])] = shards[i].row_ids(int(inside[i]), length)
        return Rows(ids, pieces)

    def _shard(self, number: int) -> _OpenShard:
        if number not in self._open:
            self._open[number] = _OpenShard(self._files[number], number, self._decoded)
        return self._open[number]

    def __getstate__(self) -> tuple[DatasetShard, ...]:
        return self._files

    def __setstate__(self, files: tuple[DatasetShard, ...]) -> None:
        self.__init__(files)  # type: ignore[misc]


class _OpenShard:
    """A shard's index, mapped, and its ids: mapped, or decoded in groups of rows."""

    def __init__(self, file: DatasetShard, number: int, decoded: _DecodedRuns) -> None:
        # The checksum is left to `verify`: reading the whole index would slow down the start.
        for path in file.files:
            here(path)
        self.index: ShardIndex = read_index(file.index, check=False)
        self.pieces = self.index.pieces
        self._file = file
        self._number, self._decoded = number, decoded
        self._runs = find_format(file.format).map_runs(
            file.folder, file.number, dtype=file.dtype, split=file.split
        )
        # Rows are back to back, or each is padded to the context length.
        self._width = None if file.ids == self.index.tokens else file.context_length
        stored = self.index.tokens if self._width is None else self._width * file.rows
        last_run = int(self._runs.first_rows.max(initial=0))
        if self.index.rows != file.rows or file.ids != stored or last_run > file.rows:
            raise self._differs(f"got an index of {self.index.rows}")
        if not self._runs.decoded and len(self._runs.ids) == 1:
            self._check_run(0, self._runs.ids[0])

    def row_ids(self, row: int, length: int) -> NDArray[Any]:
        """Return the ids of a row without its padding."""
        number = int(np.searchsorted(self._runs.first_rows, row, side="right")) - 1
        begin = self._begin(row) - self._begin(int(self._runs.first_rows[number]))
        ids = self._run(number)[begin : begin + length]
        if len(ids) != length:
            raise self._differs(f"got {len(ids)} ids in row {row}")
        return ids

    def _run(self, number: int) -> NDArray[Any]:
        if not self._runs.decoded:
            return self._runs.ids[number]
        return self._decoded.get((self._number, number), lambda: self._decode(number))

    def _decode(self, number: int) -> NDArray[Any]:
        ids = self._runs.ids[number]
        self._check_run(number, ids)
        return ids

    def _check_run(self, number: int, ids: NDArray[Any]) -> None:
        """Raise CorruptShard unless a run has as many ids as its rows."""
        firsts = [*self._runs.first_rows.tolist(), self._file.rows]
        begin, end = (self._begin(first) for first in firsts[number : number + 2])
        if len(ids) != end - begin:
            raise self._differs(f"got {len(ids)} ids in rows {firsts[number]} and after")

    def _begin(self, row: int) -> int:
        return int(self.index.row_offsets[row]) if self._width is None else row * self._width

    def _differs(self, problem: str) -> CorruptShard:
        file = self._file
        name = find_format(file.format).file_names(file.number, file.split)[0]
        expected = f"{file.rows} rows of {self.index.tokens} tokens were expected"
        return CorruptShard(f"{expected}, {problem}", path=file.folder / name)
