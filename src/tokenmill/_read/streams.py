"""Files -> streams that are read from start to end, independently of each other.

The division depends only on the list of files and the rules. A *segment* is a file or a range of
one; a stream is one or more segments. A byte range owns the lines that start in it, and its reader
continues past its end to finish the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tokenmill._errors import InputError
from tokenmill._read.blocks import BadRecord, Place, RawBlock, RawPart
from tokenmill._read.expected import expect_footers, request_start
from tokenmill._read.faults import find_fault
from tokenmill._read.formats import TABLES
from tokenmill._read.records import RecordReader
from tokenmill._read.rules import LINE_MODE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._read.inputs import InputFile
    from tokenmill._read.rules import ReadRules

_LAST_LINE = 64 << 10
_COMPRESSED_WEIGHT = 4  # about how much compression shrinks text


@dataclass(frozen=True)
class Segment:
    """A file, or a range of one: bytes of a file of lines, row groups of a Parquet file."""

    file: int
    begin: int = 0
    end: int | None = None  # None: to the end of the file

    @property
    def first_byte(self) -> int:
        """The first byte that is read of a file of lines: one early, to see a newline there."""
        return max(self.begin - 1, 0)

    @property
    def likely_end(self) -> int | None:
        """Where reading a file of lines probably ends: its last line goes beyond the range."""
        return None if self.end is None else self.end + _LAST_LINE


@dataclass(frozen=True)
class Stream:
    """Segments that are read one after the other; `resumable` if reading can start in between."""

    segments: tuple[Segment, ...]
    resumable: bool = True


def deal_streams(files: Sequence[InputFile], rules: ReadRules) -> list[Stream]:
    """Divide large files into streams, and put small files of one source together."""
    streams: list[Stream] = []
    group: list[Segment] = []
    weight = 0
    for number, file in enumerate(expect_footers(files, rules)):
        own = text_size(file)
        is_alone = own > rules.stream_bytes or not file.is_resumable
        other_source = group and files[group[0].file].source != file.source
        if group and (is_alone or other_source or weight + own > rules.stream_bytes):
            streams.append(Stream(tuple(group)))
            group, weight = [], 0
        if is_alone:
            segments = _segments(number, file, rules)
            streams += [Stream((segment,), file.is_resumable) for segment in segments]
        else:
            group.append(Segment(number))
            weight += own
    if group:
        streams.append(Stream(tuple(group)))
    return streams


def text_size(file: InputFile) -> int:
    """Return about how many bytes of text a file has."""
    shrunk = file.compression is not None or file.format == "parquet"
    return max(file.size, 0) * (_COMPRESSED_WEIGHT if shrunk else 1)


def _segments(number: int, file: InputFile, rules: ReadRules) -> list[Segment]:
    if not file.is_resumable:
        return [Segment(number)]
    if file.format == "parquet":
        from tokenmill._read.tables import cut_row_groups  # brings pyarrow

        try:
            return [Segment(number, *run) for run in cut_row_groups(file, rules.stream_bytes)]
        except InputError:
            if not rules.skip_bad_files:
                raise
            return [Segment(number)]  # its reader will report it
    has_lines = file.format == "jsonl" or (file.format == "text" and rules.text_mode == LINE_MODE)
    if file.compression is None and has_lines:
        begins = range(0, file.size, rules.stream_bytes)
        ends = [*begins[1:], None]
        return [Segment(number, a, b) for a, b in zip(begins, ends, strict=True)]
    return [Segment(number)]


class SegmentReader(Protocol):
    """A reader of one segment, for any format."""

    is_done: bool
    line: int
    bad: list[BadRecord]

    def read(self, size: int) -> RawPart | None:
        """Return about `size` bytes of records."""

    @property
    def place(self) -> tuple[int, int]:
        """Offset and line of a Place where reading can resume."""

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes of the file, and of its text, that were returned since the reader was made."""

    def close(self) -> None:
        """Close the file."""


class StreamReader:
    """Reads a stream, starting at a place. Only one thread may call `read` at a time."""

    def __init__(
        self,
        stream: Stream,
        files: Sequence[InputFile],
        rules: ReadRules,
        fields: Sequence[str],
        start: Place,
    ) -> None:
        self._stream = stream
        self._files = files
        self._rules = rules
        self._fields = fields
        self._place = start
        self._lines = start.line - 1  # of the segment that was read last
        self._reader: SegmentReader | None = None
        self._progress = (0, 0)  # of the reader
        self._is_over = False
        self._error: BaseException | None = None

    def read(self, memory: NDArray[np.uint8] | None = None) -> RawBlock | None:
        """Return the next block of raw records; None after the last. An error is raised again.

        Plain files of lines are read into `memory`, if given: parts back to back, with room for a
        byte after each. What does not fit is elsewhere.
        """
        if self._error is not None:
            raise self._error
        if self._is_over:
            return None
        try:
            return self._read_block(memory)
        except BaseException as error:
            self.close()
            self._error = error
            raise

    def _read_block(self, memory: NDArray[np.uint8] | None) -> RawBlock:
        parts: list[RawPart] = []
        bad: list[BadRecord] = []
        read_bytes = [0, 0]
        while not self._is_over:
            room = self._rules.block_bytes - read_bytes[1]
            if parts and room <= self._rules.block_bytes // 4:
                break
            if self._place.segment >= len(self._stream.segments):
                self._is_over = True
                break
            used = sum(len(part.data) + 1 for part in parts)
            left = None if memory is None else memory[used:]
            if parts and left is not None and len(left) < room:
                left = None  # it would end the block elsewhere
            self._read_some(max(room, 1), parts, bad, read_bytes, left)
            if self._reader is not None and (parts or bad):
                break
        return RawBlock(
            tuple(parts),
            tuple(bad),
            self._place,
            self._is_over,
            read_bytes[0],
            read_bytes[1],
            self._lines,
        )

    def close(self) -> None:
        """Close what is open."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._is_over = True

    def _read_some(
        self,
        size: int,
        parts: list[RawPart],
        bad: list[BadRecord],
        read_bytes: list[int],
        memory: NDArray[np.uint8] | None,
    ) -> None:
        """Read from the current segment, and step to the next one at its end."""
        if self._reader is None and (record := self._bad_file()) is not None:
            bad.append(record)
            self._lines = 0
            self._step()
            return
        reader = self._reader or self._open_segment()
        if memory is not None and isinstance(reader, RecordReader):
            part = reader.read(size, memory)
        else:
            part = reader.read(size)
        if part is not None:
            parts.append(part)
        bad += reader.bad
        reader.bad = []
        for i, total in enumerate(reader.progress):
            read_bytes[i] += total - self._progress[i]
        self._progress = reader.progress
        self._lines = reader.line - 1
        if reader.is_done:
            reader.close()
            self._reader = None
            self._step()
        else:
            self._place = Place(self._place.segment, *reader.place)

    def _step(self) -> None:
        self._place = Place(self._place.segment + 1)
        self._is_over = self._place.segment == len(self._stream.segments)

    def _bad_file(self) -> BadRecord | None:
        """Return a bad record for a file that cannot be read; checked once, at its start."""
        if not self._rules.skip_bad_files or self._place.line > 1:
            return None
        segment = self._stream.segments[self._place.segment]
        number = segment.file
        fault = find_fault(self._files[number], segment, self._rules, self._fields[number])
        return None if fault is None else BadRecord("bad_file", number, 1, -1, -1, fault, b"")

    def _open_segment(self) -> SegmentReader:
        segment = self._stream.segments[self._place.segment]
        file = self._files[segment.file]
        self._progress = (0, 0)
        request_start(self._stream, self._files, after=self._place.segment)
        if file.format in TABLES:
            from tokenmill._read.tables import open_table  # brings pyarrow

            field = self._fields[segment.file]
            self._reader = open_table(file, segment, self._rules, field, self._place)
        else:
            self._reader = RecordReader(file, segment, self._rules, self._place)
        return self._reader


def open_stream(
    stream: Stream,
    files: Sequence[InputFile],
    rules: ReadRules,
    fields: Sequence[str],
    start: Place | None = None,
) -> StreamReader:
    """Open a stream at a place; `fields` has the text field of each file, by its number."""
    return StreamReader(stream, files, rules, fields, start or Place())
