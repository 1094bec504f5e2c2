"""`mds`: shards and an index.json for MosaicML's StreamingDataset and llm-foundry."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from tokenmill._errors import CorruptShard
from tokenmill._write.body import BodyFormat, BodyWriter, IdRange, file_size, read_head, table
from tokenmill._write.format import Extras, Runs, check_size, in_split, write_indices
from tokenmill._write.writer import ShardWriter, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._files import FileRecord
    from tokenmill._pack.rows import Rows, ShardShape
    from tokenmill._write.format import ShardFacts

COLUMN = "tokens"
LIMIT = 1 << 32
SHAPE_CODES = ("<B", "<H", "<I", "<Q")
ONE_DIMENSION = 1 << 2


class Mds(BodyFormat):
    """`shard.00000.mds`, column `tokens`; a folder and an `index.json` for each split.

    Rows of one length are stored without it (`ndarray:uint16:4096`), others with their shape.
    """

    name = "mds"

    def file_names(self, shard: int, split: str = "") -> tuple[str, ...]:
        """Return the name of the shard."""
        return (in_split(split, f"shard.{shard:05d}.mds"),)

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse files of 4 GiB and more."""
        super().check(shape, max_id)
        offsets = self._offsets(shape)
        check_size(self.name, "bytes", int(offsets[-1]), LIMIT)

    def head(self, shape: ShardShape) -> bytes:
        """Return the offsets and the description, which come before the samples."""
        offsets = self._offsets(shape).astype("<u4")
        return b"".join(
            (struct.pack("<I", shape.rows), offsets.tobytes(), self._description(shape))
        )

    def writer_of(self, shape: ShardShape) -> type[ShardWriter]:
        """Return the writer of such a shard."""
        return _MdsWriter if self.stored_length(shape) is not None else _VariableWriter

    def finish(self, folder: Path, shards: Sequence[ShardFacts]) -> list[FileRecord]:
        """Write one index per split."""
        return write_indices(folder, shards, _index_json)

    def locate(self, paths: list[Path], dtype: str) -> IdRange:
        """Find the samples."""
        offsets = _read_offsets(paths[0])
        stored = self.stored_dtype(dtype)
        begin, end = int(offsets[0]), int(offsets[-1])
        return IdRange(stored, begin, (end - begin) // stored.itemsize)

    def map_ids(
        self, folder: Path, number: int, *, dtype: str, split: str = ""
    ) -> NDArray[Any] | None:
        """Map the ids into memory; None if each row has its own length."""
        path = folder / self.file_names(number, split)[0]
        if _read_description(path, dtype)["column_sizes"] == [None]:
            return None
        return super().map_ids(folder, number, dtype=dtype, split=split)

    def read_shard(
        self, folder: Path, number: int, *, dtype: str, split: str = ""
    ) -> Iterator[NDArray[Any]]:
        """Yield the ids, some at a time."""
        path = folder / self.file_names(number, split)[0]
        if _read_description(path, dtype)["column_sizes"] == [None]:
            samples = _Samples(path, self.stored_dtype(dtype))
            yield from (samples[number] for number in range(len(samples)))
        else:
            yield from super().read_shard(folder, number, dtype=dtype, split=split)

    def map_runs(self, folder: Path, number: int, *, dtype: str, split: str = "") -> Runs:
        """Map the ids; if each row has its own length, each is a run."""
        path = folder / self.file_names(number, split)[0]
        if _read_description(path, dtype)["column_sizes"] != [None]:
            return super().map_runs(folder, number, dtype=dtype, split=split)
        samples = _Samples(path, self.stored_dtype(dtype))
        return Runs(np.arange(len(samples)), samples)

    def _offsets(self, shape: ShardShape) -> NDArray[np.int64]:
        lengths = self.stored_lengths(shape)
        sizes = lengths * shape.item_size
        if self.stored_length(shape) is None:
            sizes = sizes + 4 + 1 + (1 << _shape_codes(lengths))
        begin = 4 + 4 * (shape.rows + 1) + len(self._description(shape))
        return begin + np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))

    def _description(self, shape: ShardShape) -> bytes:
        return json.dumps(_columns(shape.dtype, self.stored_length(shape)), sort_keys=True).encode()


class _MdsWriter(BodyWriter):
    """Hashes the file while writing it, for the index."""

    def __init__(self, *args: Any, extras: Extras) -> None:  # of BodyWriter
        self._hash = xxhash.xxh64()
        super().__init__(*args, extras=extras)

    def _emit(self, data: Any) -> None:
        self._hash.update(data)
        super()._emit(data)

    def _close(self) -> None:
        super()._close()
        self._digest = self._hash.hexdigest()


class _VariableWriter(_MdsWriter):
    """Writes each row with its size and shape."""

    def _append(self, rows: Rows, lengths: NDArray[np.int64]) -> None:
        begin = 0
        codes = _shape_codes(lengths).tolist()
        for length, code in zip(lengths.tolist(), codes, strict=True):
            shape = struct.pack(SHAPE_CODES[code], length)
            size = 1 + len(shape) + length * self._dtype.itemsize
            self._emit(struct.pack("<IB", size, ONE_DIMENSION | code) + shape)
            for part in cast(rows.ids[begin : begin + length], self._dtype):
                self._emit(part)
            begin += length


def _shape_codes(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the smallest type that holds each length."""
    codes = sum((lengths >= limit).astype(np.int64) for limit in (1 << 8, 1 << 16, 1 << 32))
    return np.asarray(codes, np.int64)


def _columns(dtype: str, row_length: int | None) -> dict[str, Any]:
    fixed = row_length is not None
    return {
        "column_encodings": [f"ndarray:{dtype}:{row_length}" if fixed else f"ndarray:{dtype}"],
        "column_names": [COLUMN],
        "column_sizes": [(row_length or 0) * np.dtype(dtype).itemsize if fixed else None],
        "compression": None,
        "format": "mds",
        "hashes": ["xxh64"],
        "size_limit": None,
        "version": 2,
    }


def _index_json(shards: list[ShardFacts]) -> bytes:
    entries = [
        {
            **_columns(shard.dtype, shard.row_length),
            "samples": shard.rows,
            "raw_data": {
                "basename": shard.files[0].path.rpartition("/")[2],
                "bytes": shard.files[0].bytes,
                "hashes": {"xxh64": shard.digest},
            },
            "zip_data": None,
        }
        for shard in shards
    ]
    return json.dumps({"shards": entries, "version": 2}, sort_keys=True).encode()


def _read_offsets(path: Path) -> NDArray[Any]:
    rows = struct.unpack("<I", read_head(path, 4))[0]
    begin, size = 4 + 4 * (rows + 1), file_size(path)
    if begin > size:
        raise CorruptShard(f"the offsets of {rows} samples do not fit {size} bytes", path=path)
    offsets = table(path, "<u4", 4, rows + 1).astype(np.int64)
    if int(offsets[0]) < begin or int(offsets[-1]) != size or bool(np.any(np.diff(offsets) < 0)):
        raise CorruptShard("the samples' offsets contradict the file's size", path=path)
    return offsets


def _read_description(path: Path, dtype: str) -> dict[str, Any]:
    offsets = _read_offsets(path)
    begin = 4 + 4 * len(offsets)
    try:
        found = json.loads(read_head(path, int(offsets[0]))[begin:])
        length = found["column_sizes"][0]
        row = None if length is None else length // np.dtype(dtype).itemsize
        same = found == _columns(dtype, row)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise CorruptShard(f"not a description: {error}", path=path) from error
    if not same:
        raise CorruptShard(f"expected {dtype} rows, got {found}", path=path)
    return dict(found)


class _Samples(Sequence["NDArray[Any]"]):
    """The ids of each sample of a shard whose rows have their own lengths, mapped."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self._path, self._dtype = path, dtype
        self._offsets = _read_offsets(path)
        self._data = table(path, "u1", 0, file_size(path))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: Any) -> Any:  # an int: slices are never used
        begin, end = self._offsets[number : number + 2].tolist()
        code = int(self._data[begin + 4]) & 3
        values = self._data[begin + 5 + (1 << code) : end]
        if len(values) % self._dtype.itemsize:
            raise CorruptShard(
                f"the sample at byte {begin} does not have whole ids", path=self._path
            )
        return np.frombuffer(values, self._dtype)
