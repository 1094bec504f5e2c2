"""Tables of each format: opened, and their text column in pieces, starting at a row group."""

from __future__ import annotations

import io
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tokenmill._errors import Hint, InputError, Option, OptionError, StoreError
from tokenmill._read.columns import BadRow, find_column
from tokenmill._read.csv_rows import CsvRows, OddRow
from tokenmill._read.remote import asking, is_remote
from tokenmill._read.sources import open_bytes, open_source
from tokenmill._read.stdin import STDIN
from tokenmill._read.timed_file import TimedFile
from tokenmill._store import RANGE_BYTES, is_address
from tokenmill._timeline import add_bytes, hand_over, stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._read.inputs import InputFile
    from tokenmill._read.rules import ReadRules
    from tokenmill._read.streams import Segment

    # The number of a row group and some of its rows: an Arrow array, or a list of objects.
    Pieces = Iterator[tuple[int, Any]]

_MAX_ROWS = 1 << 16
_PIECE_ROWS = 1000  # of a dataset
_ARROW_FILE = b"ARROW1"
_ARROW_HEAD = 8  # with its padding
DELIMITERS = {"csv": ",", "tsv": "\t"}


class Opened:
    """A table that yields its pieces in order; one subclass per format."""

    def __init__(self, input_file: InputFile, field: str, rules: ReadRules) -> None:
        self._input = input_file
        self._field = field
        self._rules = rules

    def pieces(self, group: int) -> Pieces:
        """Yield the pieces, starting at a row group."""
        raise NotImplementedError

    def rows_before(self, first: int, group: int) -> int:
        """Return how many rows the groups from `first` up to `group` have."""
        return 0

    def consumed(self, rows: int, *, is_done: bool) -> int:
        """Return about how many bytes of the file hold that many rows."""
        return int(max(self._input.size, 0)) if is_done else 0

    def close(self) -> None:
        """Close what is open."""


class ParquetTable(Opened):
    """The text column of the row groups of a Parquet file."""

    def __init__(
        self, input_file: InputFile, field: str, rules: ReadRules, segment: Segment
    ) -> None:
        super().__init__(input_file, field, rules)
        self._file, self._parquet = open_parquet(input_file)
        with _closing_on_error(self._file):
            self._column = find_column(self._parquet.schema_arrow, field, input_file.path)
        metadata = self._parquet.metadata
        self._rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._end = len(self._rows) if segment.end is None else segment.end

    def pieces(self, group: int) -> Pieces:
        """Yield the batches of each row group."""
        self._expect(group)
        for number in range(group, self._end):
            batches = self._parquet.iter_batches(
                batch_size=self._batch_rows(number),
                row_groups=[number],
                columns=[".".join(self._column)],
                use_threads=False,
            )
            while (batch := self._next(batches)) is not None:
                yield number, column_of(batch, self._column)

    def _next(self, batches: Iterator[Any]) -> Any:  # a batch of pyarrow's, or None
        """Return the next batch: its pages are read, decompressed and decoded."""
        taken, seconds = self._file.taken, self._file.seconds
        with stage("decompress"):
            batch = next(batches, None)
            hand_over("read", self._file.seconds - seconds)
        add_bytes("decompress", self._file.taken - taken)
        return batch

    def rows_before(self, first: int, group: int) -> int:
        """Sum up the rows of the groups before."""
        return int(sum(self._rows[first:group]))

    def consumed(self, rows: int, *, is_done: bool) -> int:
        """Return the size of the file times the share of its rows."""
        return int(self._input.size * rows // max(sum(self._rows), 1))

    def close(self) -> None:
        """Close the file."""
        self._parquet.close()
        self._file.close()

    def _expect(self, group: int) -> None:
        """Request the chunks of the column ahead, if the file is an object of a store."""
        if not is_address(self._input.path) or self._input.size <= RANGE_BYTES:
            return
        spans = []
        for number in range(group, self._end):
            for column in self._chunks(number):
                pages = [column.data_page_offset, column.dictionary_page_offset]
                begin = min(page for page in pages if page)
                spans.append((begin, begin + column.total_compressed_size))
        self._file.file.expect(spans)

    def _chunks(self, number: int) -> list[Any]:
        group = self._parquet.metadata.row_group(number)
        name = ".".join(self._column)
        columns = (group.column(i) for i in range(group.num_columns))
        return [column for column in columns if column.path_in_schema == name]

    def _batch_rows(self, number: int) -> int:
        group = self._parquet.metadata.row_group(number)
        size = sum(chunk.total_uncompressed_size for chunk in self._chunks(number))
        rows = self._rules.block_bytes * group.num_rows // max(size, 1)
        return int(max(1, min(rows, _MAX_ROWS)))


class ArrowTable(Opened):
    """Batches of an Arrow file or stream; a plain file is mapped, not read."""

    def __init__(self, input_file: InputFile, field: str, rules: ReadRules) -> None:
        super().__init__(input_file, field, rules)
        self._read_batches = 0  # batches
        self._source, self._reader = open_arrow(input_file)
        with _closing_on_error(self._source):
            self._column = find_column(self._reader.schema, field, input_file.path)

    def pieces(self, group: int) -> Pieces:
        """Yield the text column of each batch."""
        if isinstance(self._reader, pa.ipc.RecordBatchFileReader):
            for i in range(self._reader.num_record_batches):
                self._read_batches = i + 1
                yield 0, column_of(self._reader.get_batch(i), self._column)
        else:
            for batch in self._reader:
                yield 0, column_of(batch, self._column)

    def consumed(self, rows: int, *, is_done: bool) -> int:
        """Return how much of the file was read; if it is mapped, by the number of batches."""
        if is_done:
            return super().consumed(rows, is_done=True)
        if isinstance(self._reader, pa.ipc.RecordBatchFileReader):
            return int(
                self._input.size * self._read_batches // max(self._reader.num_record_batches, 1)
            )
        is_mapped = isinstance(self._source, pa.MemoryMappedFile)
        return int(self._source.tell() if is_mapped else self._source.consumed)

    def close(self) -> None:
        """Close the file."""
        self._source.close()


class CsvTable(Opened):
    """Rows of a CSV file with a header; quoted fields may hold newlines."""

    def __init__(self, input_file: InputFile, field: str, rules: ReadRules) -> None:
        super().__init__(input_file, field, rules)
        self._source = open_source(input_file)
        with _closing_on_error(self._source):
            self._rows = csv_rows(self._source, input_file, rules)
            self._head = next(self._rows, [])
            if field not in self._head:
                raise _no_field(input_file.path, field, self._head)
        self._number = self._head.index(field)

    def pieces(self, group: int) -> Pieces:
        """Yield the text fields of a few rows at a time, as bytes."""
        values: list[Any] = []
        size = 0
        for row in self._rows:
            if isinstance(row, OddRow):
                values.append(BadRow(row, row.reason))
            elif len(row) == len(self._head):
                values.append(row[self._number].encode("utf-8", "surrogateescape"))
                size += len(values[-1])
            else:
                values.append(BadRow(row))
            if size >= self._rules.block_bytes or len(values) == _MAX_ROWS:
                yield 0, values
                values, size = [], 0
        yield 0, values

    def consumed(self, rows: int, *, is_done: bool) -> int:
        """Return how much of the file was read."""
        return self._source.consumed

    def close(self) -> None:
        """Close the file."""
        self._source.close()


class ObjectTable(Opened):
    """A dataset in memory, or any iterable of rows: mappings or strings."""

    def pieces(self, group: int) -> Pieces:
        """Yield Arrow columns if the object has them, else lists of rows."""
        data = self._input.data
        if hasattr(data, "to_batches"):
            tables = iter(data.to_batches())
        elif hasattr(data, "with_format") and hasattr(data, "iter") and not _is_transformed(data):
            tables = data.with_format("arrow").iter(batch_size=self._rules.fetch_rows)
        else:
            yield from self._lists(iter(data))
            return
        for column in _even(map(self._column_of, tables)):
            yield 0, column

    def _column_of(self, table: Any) -> Any:  # a table or a batch of one
        column = column_of(table, find_column(table.schema, self._field, self._input.path))
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def _lists(self, rows: Iterator[Any]) -> Pieces:
        while some := list(islice(rows, 256)):
            yield 0, some


def _is_transformed(data: Any) -> bool:  # of datasets
    """Return whether a Dataset has a transform: then Arrow data would lack it."""
    return bool((getattr(data, "format", None) or {}).get("type") == "custom")


def _even(columns: Iterator[Any]) -> Iterator[Any]:
    """Divide columns into pieces of _PIECE_ROWS rows, for any number of rows fetched at a time."""
    held: list[Any] = []
    rows = 0
    for column in columns:
        held.append(column)
        rows += len(column)
        if rows >= _PIECE_ROWS:
            joined = pa.concat_arrays(held)
            full = rows - rows % _PIECE_ROWS
            yield from (joined[i : i + _PIECE_ROWS] for i in range(0, full, _PIECE_ROWS))
            held, rows = [joined[full:]], rows - full
    if rows:
        yield pa.concat_arrays(held)


@contextmanager
def _closing_on_error(opened: Any) -> Iterator[None]:  # whatever can be closed
    """Close what was opened if the block fails."""
    try:
        yield
    except BaseException:
        opened.close()
        raise


class SourceFile(io.RawIOBase):
    """A source as a file object for other libraries; `head` was read from it before."""

    def __init__(self, source: Any, head: bytes = b"") -> None:  # a PlainSource or CompressedSource
        self._source = source
        self._head = head

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:  # a buffer
        """Fill a buffer."""
        data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        data = data or self._source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def open_parquet(input_file: InputFile) -> tuple[TimedFile, Any]:  # pyarrow has no types
    """Open a Parquet file, after checking that it has not changed; return what to close, too."""
    import pyarrow.parquet  # not part of `import pyarrow`

    _refuse_stream(input_file)
    file = TimedFile(open_bytes(input_file))
    if is_address(input_file.path) and input_file.size <= RANGE_BYTES:
        file.file.expect([(0, None)])
    with _closing_on_error(file), asking(input_file.path):
        try:
            return file, pyarrow.parquet.ParquetFile(file, buffer_size=1 << 20)
        except (pa.ArrowException, OSError) as error:
            raise damaged(input_file, error) from error


@contextmanager
def parquet_reader(input_file: InputFile) -> Iterator[Any]:
    """Open a Parquet file to look at its metadata."""
    file, parquet = open_parquet(input_file)
    try:
        yield parquet
    finally:
        parquet.close()
        file.close()


def open_arrow(input_file: InputFile, *, look: bool = False) -> tuple[Any, Any]:
    """Open an Arrow file or stream; return what to close, and its reader.

    If it cannot be mapped, it is read from start to end: an Arrow file is a stream after 8 bytes.
    """
    in_place = input_file.compression is None and not is_remote(input_file.path)
    try:
        if in_place and input_file.path != STDIN:
            open_bytes(input_file).close()
            mapped: Any = pa.memory_map(input_file.path)
            is_file = mapped.read(len(_ARROW_FILE)) == _ARROW_FILE
            mapped.seek(0)
            return mapped, pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)
        source = open_source(input_file, look=look)
        head = source.read(_ARROW_HEAD)
        file = SourceFile(source, b"" if head.startswith(_ARROW_FILE) else head)
        return source, pa.ipc.open_stream(pa.PythonFile(file, mode="r"))
    except (pa.ArrowException, OSError) as error:
        raise damaged(input_file, error) from error


def csv_rows(source: Any, input_file: InputFile, rules: ReadRules) -> Iterator[list[str]]:
    """Yield the rows of a CSV file; bytes that are not UTF-8 become lone surrogates."""
    file = io.BufferedReader(SourceFile(source), 1 << 20)
    text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
    delimiter = rules.delimiter or DELIMITERS[input_file.format]
    return iter(CsvRows(text, delimiter, rules.max_line_bytes))


def column_of(batch: Any, path: tuple[str, ...]) -> Any:  # pyarrow has no types
    """Return the column at a path; a struct that is null has null fields."""
    import pyarrow.compute as pc

    column = batch.column(path[0])
    return pc.struct_field(column, list(path[1:])) if len(path) > 1 else column


def _refuse_stream(input_file: InputFile) -> None:
    if input_file.path == STDIN:
        raise InputError(
            "a Parquet file cannot be read from a pipe: its metadata is at its end",
            path=input_file.path,
            hint="name the file",
        )
    if input_file.compression is not None:
        raise InputError(
            "a Parquet file inside a compressed one cannot be read in parts",
            path=input_file.path,
            hint="decompress it first; Parquet compresses its own pages",
        )


def _no_field(path: str, field: str, seen: list[str]) -> OptionError:
    return OptionError(
        f"no column {field!r}, got {', '.join(seen) or 'none'}",
        where=path,
        hint=Hint("name the text column with {}", Option("field")),
    )


def damaged(input_file: InputFile, error: Exception) -> InputError:
    """Return the error for a file that its format does not allow."""
    if isinstance(error, InputError):
        return error
    if isinstance(error, StoreError):  # nothing is known about the file
        raise error
    return InputError(
        f"the {input_file.format} data is damaged: {error}",
        path=input_file.path,
        hint="download or copy the file again, or leave it out",
    )
