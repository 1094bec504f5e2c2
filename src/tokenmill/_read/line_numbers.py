"""How many lines are before a segment: slow, for messages about a single record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._read.sources import open_source

if TYPE_CHECKING:
    from tokenmill._read.inputs import InputFile
    from tokenmill._read.streams import Segment

_CHUNK = 1 << 22


def lines_before(file: InputFile, segment: Segment) -> int:
    """Count the lines, or rows, of a file that start before one of its segments."""
    if segment.begin == 0:
        return 0
    if file.format == "parquet":
        from tokenmill._read.table_files import parquet_reader  # brings pyarrow

        with parquet_reader(file) as parquet:
            groups = range(segment.begin)
            return int(sum(parquet.metadata.row_group(i).num_rows for i in groups))
    return 1 + _count_newlines(file, segment.begin - 1)


def _count_newlines(file: InputFile, end: int) -> int:
    source = open_source(file)
    try:
        count = 0
        while source.position < end:
            chunk = source.read(min(_CHUNK, end - source.position))
            count += chunk.count(b"\n")
            if not chunk:
                break
        return count
    finally:
        source.close()
