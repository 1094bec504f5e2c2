"""`parquet` and `arrow`: tables of rows, for Hugging Face datasets and TRL."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._write.arrow_arrays import number_array
from tokenmill._write.body import file_size
from tokenmill._write.format import Extras, Format, Runs, check_signed, check_size, stem
from tokenmill._write.stream import FileStream
from tokenmill._write.writer import ShardWriter, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._pack.rows import Pieces, Rows, ShardShape

GROUP_TOKENS = 1 << 20  # a row group or batch is full with that many
INT32 = np.dtype("<i4")


class _TableFormat(Format):
    """Columns `input_ids` and `seq_lengths` (the lengths of the row's pieces), list<int32>."""

    pads = False

    def file_names(self, shard: int, split: str = "") -> tuple[str, ...]:
        """Return the name of the table; it starts with the split, which its readers detect."""
        return (f"{stem(shard, split)}.{self.name}",)

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse what int32 cannot hold: ids, and lengths of rows."""
        super().check(shape, max_id)
        check_signed(self.name, max_id)
        longest = int(shape.row_lengths.max(initial=0))
        check_size(self.name, "tokens in one row", longest, (1 << 31) - GROUP_TOKENS)

    def writer_of(self, shape: ShardShape) -> type[ShardWriter]:
        """Return the writer of such a shard."""
        del shape
        return _TableWriter

    def read_shard(
        self, folder: Path, number: int, *, dtype: str, split: str = ""
    ) -> Iterator[NDArray[Any]]:
        """Yield the ids, a group of rows at a time."""
        path = folder / self.file_names(number, split)[0]
        file_size(path)
        with _reading(path):
            for column in self.columns(path):
                yield from cast(_ids_of(column), np.dtype(dtype))

    def sink(self, file: Any, schema: Any) -> Any:  # pyarrow's
        """Return pyarrow's writer of this format."""
        raise NotImplementedError

    def columns(self, path: Path) -> Iterable[Any]:
        """Return the arrays of `input_ids`."""
        raise NotImplementedError


class Parquet(_TableFormat):
    """`shard-00000.parquet`, compressed by zstd."""

    name = "parquet"
    is_mapped = False

    def sink(self, file: Any, schema: Any) -> Any:
        """Return a writer with every option that affects the bytes."""
        from pyarrow import parquet

        return parquet.ParquetWriter(
            file,
            schema,
            version="2.6",
            data_page_version="1.0",
            compression="zstd",
            compression_level=1,
            use_dictionary=False,
            write_statistics=False,
            data_page_size=1 << 20,
        )

    def columns(self, path: Path) -> Iterable[Any]:
        """Yield the column of each batch."""
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield from file.read_row_group(group, columns=["input_ids"])["input_ids"].chunks

    def map_runs(self, folder: Path, number: int, *, dtype: str, split: str = "") -> Runs:
        """Return the row groups, each decoded when it is asked for."""
        path = folder / self.file_names(number, split)[0]
        file_size(path)
        groups = _RowGroups(path, np.dtype(dtype))
        return Runs(np.cumsum(groups.rows) - groups.rows, groups, decoded=True)


class Arrow(_TableFormat):
    """`shard-00000.arrow`, an Arrow IPC file that can be mapped into memory."""

    name = "arrow"

    def id_bytes(self, dtype: str) -> int:
        """Return how many bytes an id takes."""
        del dtype
        return INT32.itemsize

    def sink(self, file: Any, schema: Any) -> Any:
        """Return a writer of record batches."""
        import pyarrow as pa

        return pa.ipc.new_file(file, schema)

    def columns(self, path: Path) -> Iterable[Any]:
        """Yield the column of each batch."""
        import pyarrow as pa

        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
            for batch in range(reader.num_record_batches):
                yield reader.get_batch(batch)["input_ids"]

    def map_runs(self, folder: Path, number: int, *, dtype: str, split: str = "") -> Runs:
        """Map the ids of each batch."""
        del dtype
        path = folder / self.file_names(number, split)[0]
        file_size(path)
        with _reading(path):
            columns = list(self.columns(path))
            runs = [_ids_of(column) for column in columns]
        rows = np.array([len(column) for column in columns], np.int64)
        return Runs(np.cumsum(rows) - rows, runs)


class _RowGroups(Sequence["NDArray[Any]"]):
    """The ids of each row group of a Parquet file, as `dtype`.

    Only the metadata is kept: the file is opened for each group, so that a dataset of thousands of
    shards holds no handles. One thread decodes, because pyarrow's pool does not survive a fork.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        from pyarrow import parquet

        self._path, self._dtype = path, dtype
        with _reading(path):
            self._metadata = parquet.read_metadata(path)
        groups = range(self._metadata.num_row_groups)
        self.rows = np.array([self._metadata.row_group(i).num_rows for i in groups], np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: Any) -> Any:  # an int: slices are never used
        from pyarrow import parquet

        with (
            _reading(self._path),
            parquet.ParquetFile(self._path, metadata=self._metadata) as file,
        ):
            table = file.read_row_group(number, columns=["input_ids"], use_threads=False)
            columns = table["input_ids"].chunks
            narrow = [part for column in columns for part in cast(_ids_of(column), self._dtype)]
            return np.concatenate([np.empty(0, self._dtype), *narrow])


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn the errors of pyarrow into a CorruptShard with its path."""
    import pyarrow as pa  # heavy

    try:
        yield
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise CorruptShard(f"not a table of rows: {error}", path=path) from error


def _ids_of(column: Any) -> NDArray[Any]:  # pyarrow's
    """Return the ids of a column of rows, without a copy."""
    import pyarrow as pa

    if column.type != pa.list_(pa.int32()):
        raise ValueError(f"input_ids is {column.type}")
    column.validate(full=True)  # wrong offsets would crash the process in pyarrow
    ids: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=True)
    return ids


class _TableWriter(ShardWriter):
    """Collects rows until a group is full, so that groups do not depend on how rows arrive."""

    def __init__(
        self,
        form: _TableFormat,
        folder: Path,
        number: int,
        shape: ShardShape,
        split: str,
        *,
        extras: Extras,
    ) -> None:
        import pyarrow as pa

        super().__init__(form, folder, number, shape, split, extras=extras)
        lists = pa.list_(pa.int32())
        self._schema = pa.schema([("input_ids", lists), ("seq_lengths", lists)])
        self._stream = FileStream(self._file)
        self._sink = form.sink(pa.PythonFile(self._stream, "w"), self._schema)
        self._ids: list[NDArray[Any]] = []
        self._piece_lengths: list[NDArray[np.int64]] = []
        self._row_sizes: list[NDArray[np.int64]] = []  # tokens and pieces of each row
        self._held = 0

    def _append(self, rows: Rows, lengths: NDArray[np.int64]) -> None:
        for begin, end in self._groups(lengths):
            self._hold(rows, lengths, begin, end)
            if self._held >= GROUP_TOKENS:
                self._write_group()

    def _groups(self, lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Divide rows where their group becomes full."""
        ends = np.cumsum(lengths)
        begin, done = 0, 0
        while begin < len(lengths):
            wanted = GROUP_TOKENS - self._held + done
            end = min(int(np.searchsorted(ends, wanted)) + 1, len(lengths))
            yield begin, end
            begin, done = end, int(ends[end - 1])

    def _hold(self, rows: Rows, lengths: NDArray[np.int64], begin: int, end: int) -> None:
        pieces: Pieces = rows.pieces
        first, last = int(lengths[:begin].sum()), int(lengths[:end].sum())
        borders = pieces.row_pieces[begin : end + 1]
        self._ids += [part.copy() for part in cast(rows.ids[first:last], INT32)]
        self._piece_lengths.append(pieces.lengths[borders[0] : borders[-1]])
        self._row_sizes.append(np.stack((lengths[begin:end], np.diff(borders))))
        self._held += last - first

    def _write_group(self) -> None:
        import pyarrow as pa

        if not self._row_sizes:
            return
        tokens, pieces = np.concatenate(self._row_sizes, axis=1)
        columns = [
            _lists(tokens, self._ids),
            _lists(pieces, [part.astype(INT32) for part in self._piece_lengths]),
        ]
        self._sink.write_batch(pa.record_batch(columns, schema=self._schema))
        self._ids, self._piece_lengths, self._row_sizes, self._held = [], [], [], 0

    def _close(self) -> None:
        self._write_group()
        self._sink.close()

    def discard(self) -> None:
        self._stream.stop()
        self._sink.close()
        super().discard()


def _lists(sizes: NDArray[np.int64], values: list[NDArray[Any]]) -> Any:
    import pyarrow as pa

    offsets = np.concatenate((np.zeros(1, INT32), np.cumsum(sizes, dtype=INT32)))
    flat = np.concatenate(values) if values else np.empty(0, INT32)
    return pa.ListArray.from_arrays(number_array(offsets), number_array(flat))
