"""Parquet, Arrow, CSV and datasets in memory: the text column, in bounded pieces."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tokenmill._read.blocks import BadRecord, Place, RawPart
from tokenmill._read.columns import is_text
from tokenmill._read.remote import asking
from tokenmill._read.sources import open_source
from tokenmill._read.table_files import (
    DELIMITERS,
    ArrowTable,
    CsvTable,
    ObjectTable,
    Opened,
    ParquetTable,
    csv_rows,
    damaged,
    open_arrow,
    parquet_reader,
)

if TYPE_CHECKING:
    from tokenmill._read.inputs import InputFile
    from tokenmill._read.rules import ReadRules
    from tokenmill._read.streams import Segment

_SAMPLE_ROWS = 200
_UNKNOWN_SIZE = 1024


class TableReader:
    """Returns the rows of a table in order; `place` is a row group and a row."""

    def __init__(
        self, input_file: InputFile, segment: Segment, opened: Opened, start: Place
    ) -> None:
        self._input = input_file
        self._file = segment.file
        self._opened = opened
        self._group = max(start.offset, segment.begin)
        self._skip = start.line - 1 - opened.rows_before(segment.begin, self._group)
        self._pieces = opened.pieces(self._group)
        self._piece: Any = None
        self._text_bytes = 0
        self.line = start.line
        self.is_done = False
        self.bad: list[BadRecord] = []

    def read(self, size: int) -> RawPart | None:
        """Return rows of about `size` bytes."""
        while self._piece is None or not len(self._piece):
            with asking(self._input.path):
                try:
                    self._group, self._piece = next(self._pieces, (self._group, None))
                except (pa.ArrowException, csv.Error, OSError) as error:
                    raise damaged(self._input, error) from error
            if self._piece is None:
                self.is_done = True
                return None
            skipped = min(self._skip, len(self._piece))
            self._piece = self._piece[skipped:]
            self._skip -= skipped
        total = byte_size(self._piece)
        count = min(len(self._piece), max(1, size * len(self._piece) // max(total, 1)))
        rows, self._piece = self._piece[:count], self._piece[count:]
        part = RawPart(self._file, self.line, -1, rows, "rows")
        self.line += count
        self._text_bytes += byte_size(rows)
        return part

    @property
    def place(self) -> tuple[int, int]:
        """Row group and row where reading can resume."""
        return self._group, self.line

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes of the file (estimated), and of the column."""
        return self._opened.consumed(self.line - 1, is_done=self.is_done), self._text_bytes

    def close(self) -> None:
        """Close the file."""
        self._opened.close()


def open_table(
    input_file: InputFile, segment: Segment, rules: ReadRules, field: str, start: Place
) -> TableReader:
    """Open a table at a place."""
    opened: Opened
    try:
        if input_file.format == "parquet":
            opened = ParquetTable(input_file, field, rules, segment)
        elif input_file.format == "arrow":
            opened = ArrowTable(input_file, field, rules)
        elif input_file.format == "dataset":
            opened = ObjectTable(input_file, field, rules)
        else:
            opened = CsvTable(input_file, field, rules)
    except (pa.ArrowException, csv.Error) as error:
        raise damaged(input_file, error) from error
    return TableReader(input_file, segment, opened, start)


def cut_row_groups(input_file: InputFile, stream_bytes: int) -> list[tuple[int, int]]:
    """Return ranges of row groups with about `stream_bytes` in the file."""
    with parquet_reader(input_file) as parquet:
        metadata = parquet.metadata
    runs: list[tuple[int, int]] = []
    begin = size = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        own = sum(group.column(c).total_compressed_size for c in range(group.num_columns))
        if i > begin and size + own > stream_bytes:
            runs.append((begin, i))
            begin, size = i, 0
        size += own
    return [*runs, (begin, metadata.num_row_groups)]


def table_fields(input_file: InputFile, rules: ReadRules) -> dict[str, bool]:
    """Return the columns of a table, and whether each holds text."""
    if input_file.format == "dataset":
        return _object_fields(input_file.data)
    if input_file.format in DELIMITERS:
        source = open_source(input_file, look=True)
        try:
            return dict.fromkeys(next(csv_rows(source, input_file, rules), []), True)
        finally:
            source.close()
    if input_file.format == "parquet":
        with parquet_reader(input_file) as parquet:
            schema = parquet.schema_arrow
    else:
        source, reader = open_arrow(input_file, look=True)
        schema = reader.schema
        source.close()
    return {column.name: is_text(column.type) for column in schema}


def _object_fields(data: Any) -> dict[str, bool]:
    schema = getattr(data, "schema", None) or getattr(
        getattr(data, "features", None), "arrow_schema", None
    )
    if schema is not None:
        return {column.name: is_text(column.type) for column in schema}
    fields: dict[str, bool] = {}
    sample = islice(data, _SAMPLE_ROWS) if hasattr(data, "__getitem__") else ()
    for row in sample:
        if isinstance(row, (str, bytes)):
            fields["text"] = True
            continue
        for name in row if isinstance(row, Mapping) else ():
            fields[name] = fields.get(name, False) or isinstance(row[name], (str, bytes))
    # Looking at the rows of a generator would lose them.
    return fields if hasattr(data, "__getitem__") else {"text": True}


def byte_size(rows: Any) -> int:  # an Arrow array or a list
    """Return about how many bytes rows take."""
    if isinstance(rows, list):
        return sum(map(_row_size, rows))
    return int(rows.nbytes)


def _row_size(row: Any) -> int:  # a text, a mapping, or a row that is bad
    if isinstance(row, (str, bytes)):
        return len(row)
    values = row.values() if isinstance(row, Mapping) else ()
    return sum(len(value) for value in values if isinstance(value, (str, bytes))) or _UNKNOWN_SIZE
