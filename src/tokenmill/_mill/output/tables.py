"""Files next to the shards: where each document came from, and the bad records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._files import FileRecord, NewFile, checksum, unfinished_path, writing
from tokenmill._platform.files import replace, sync_file
from tokenmill._platform.folders import sync_folder
from tokenmill._write.arrow_arrays import number_array, text_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._mill.output.parts import Part
    from tokenmill._read import InputFile, Stream

_GROUP_ROWS = 1 << 20


class LineBases:
    """Line numbers are counted within a segment; this adds the lines before it in its file."""

    def __init__(self, parts: Sequence[Part], streams: Sequence[Stream]) -> None:
        self._streams = streams
        self._lines: dict[int, int] = {}  # of each stream, as far as it was read
        self._bases: list[int] = []
        self._before: dict[int, int] = {}  # lines of each file so far
        for part in parts:
            self.add(part)
        if parts:
            self.of(len(streams) - 1)  # at once: later, many threads may ask

    def add(self, part: Part) -> None:
        """Add the next part."""
        self._lines[part.record.stream] = part.record.segment_lines

    def of(self, stream: int) -> int:
        """Return how many lines of its file are before a stream; its first part must be there."""
        for number in range(len(self._bases), stream + 1):
            first = self._streams[number].segments[0]
            if number:
                earlier = self._streams[number - 1].segments[0].file
                self._before[earlier] = self._bases[-1] + self._lines.get(number - 1, 0)
            self._bases.append(self._before.get(first.file, 0) if first.begin else 0)
        return self._bases[stream]


def write_quarantine(
    path: Path,
    parts: Sequence[Part],
    files: Sequence[InputFile],
    bases: LineBases,
    quarantined: frozenset[str],
) -> FileRecord:
    """Write one line of JSON for each quarantined record: why, where, and its first bytes."""
    file = NewFile(path)
    try:
        for part in parts:
            base = bases.of(part.record.stream)
            for record in part.bad():
                if record["reason"] in quarantined:
                    file.write(_quarantine_line(record, files, base))
        return file.commit()
    except BaseException:
        file.discard()
        raise


def _quarantine_line(record: dict[str, Any], files: Sequence[InputFile], base: int) -> bytes:
    value = {
        "reason": record["reason"],
        "file": files[record["file"]].path,
        "line": record["line"] + base,
        "offset": record["offset"],
        "length": record["length"],
        "message": record["message"],
        "raw": record["raw"],
    }
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def shown_path(path: str) -> str:
    """Return a path as text; bytes that are not UTF-8 are escaped."""
    return path.encode("utf-8", "backslashreplace").decode()


def write_documents(
    path: Path, parts: Iterable[Part], files: Sequence[InputFile], bases: LineBases
) -> FileRecord:
    """Write the place of every document, in the order of their numbers.

    Parts may come one by one, and `bases` need not have them yet.
    """
    import pyarrow as pa  # heavy
    import pyarrow.parquet as pq

    schema = pa.schema(
        [
            ("file", pa.dictionary(pa.int32(), pa.string())),
            ("line", pa.int64()),
            ("offset", pa.int64()),
            ("tokens", pa.int64()),
        ]
    )
    names = text_array([shown_path(file.path) for file in files])
    unfinished = unfinished_path(path)
    try:
        with writing(path), pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            for part in parts:
                bases.add(part)
                for columns in _document_columns(part, bases):
                    place = pa.DictionaryArray.from_arrays(number_array(columns[0]), names)
                    rest = [number_array(column) for column in columns[1:]]
                    writer.write_table(pa.Table.from_arrays([place, *rest], schema=schema))
        return commit_written(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _document_columns(part: Part, bases: LineBases) -> Iterator[list[NDArray[Any]]]:
    files, lines, positions, lengths = part.columns("files", "lines", "positions", "lengths")
    columns = [files, lines + bases.of(part.record.stream), positions, lengths]
    for begin in range(0, len(lines), _GROUP_ROWS):
        yield [np.ascontiguousarray(c[begin : begin + _GROUP_ROWS]) for c in columns]


def commit_written(unfinished: Path, path: Path) -> FileRecord:
    """Sync and rename a file that a library has written."""
    with writing(path):
        sync_file(unfinished)
        size, digest = unfinished.stat().st_size, checksum(unfinished)
        replace(unfinished, path)
        sync_folder(path.parent)
    return FileRecord(path.name, size, digest)
