"""Records of one segment of a text file: raw bytes that end where a record ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tokenmill import _core
from tokenmill._read.blocks import RAW_BYTES, BadRecord, Place, RawPart
from tokenmill._read.sources import open_source, reading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._read.inputs import InputFile
    from tokenmill._read.rules import ReadRules
    from tokenmill._read.streams import Segment

_BOM = b"\xef\xbb\xbf"  # marks the encoding, and is not text
_SCAN_BYTES = 1 << 16
_SKIP_BYTES = 1 << 22
# A longer record is measured before it is read into memory, if the file can be read again.
_HOLD_BYTES = 32 << 20


def too_long_message(limit: int) -> str:
    """Return the message for a record that is too long."""
    return f"more than {limit} bytes"


class RecordReader:
    """Reads one segment, starting at a place.

    `position` is the first byte that was not returned yet, `line` the number of the record there.
    Bytes after the last returned record wait in `_ahead` and are read again, so that where blocks
    end depends only on the place, not on what was read before it. Lines of a plain file are read by
    the core, without the interpreter's lock; only what is too long, or lacks its newline, goes
    through `_buffer`.
    """

    def __init__(
        self, input_file: InputFile, segment: Segment, rules: ReadRules, start: Place
    ) -> None:
        self._input = input_file
        self._segment = segment
        self._end = segment.end
        self._limit = rules.max_line_bytes
        self._separator = rules.separator_of(input_file.format)
        self._kind = "jsonl" if input_file.format == "jsonl" else "text"
        begin = start.offset if start.offset > segment.begin else segment.first_byte
        self._source = open_source(input_file, span=(begin, segment.likely_end))
        self._is_plain = input_file.compression is None
        self._buffer = bytearray()
        self._ahead = bytearray()
        self._is_at_end = False  # of the file
        self._is_seekable = self._is_plain and input_file.path != "-"
        self._fits = False  # the record that fills the buffer was measured
        self.position = 0
        self.line = 1
        self.is_done = False
        self.bad: list[BadRecord] = []
        try:
            self._seek(start)
        except BaseException:
            self._source.close()
            raise
        is_fresh = start.offset <= segment.begin
        self._first = 0 if is_fresh and segment.begin == 0 else self.position
        self._first_consumed = 0 if is_fresh else self._source.consumed
        self._descriptor = self._source.descriptor if self._separator == b"\n" else None

    def read(self, size: int, memory: NDArray[np.uint8] | None = None) -> RawPart | None:
        """Return about `size` bytes of whole records, or None if it found none.

        Lines of a plain file are read into `memory`, if given, as far as they fit.
        """
        if not self.is_done and (part := self._read_lines(size, memory)) is not None:
            return part
        searched = 0
        while not self.is_done:
            self._fill(size)
            cut, count = self._find_cut(searched)
            if cut or self.is_done:
                return self._take(cut, count)
            searched = len(self._buffer)
            if self._is_too_long(searched):
                self._skip_record()
                return None
        return None

    def _read_lines(self, size: int, memory: NDArray[np.uint8] | None) -> RawPart | None:
        """Return the lines that end in the next `size` bytes, or else the next line.

        None if it is too long or the last one without a newline.
        """
        if self._descriptor is None:
            return None
        left = size if self._end is None else self._end - self.position
        place = (self._descriptor, self.position)
        with reading(self._input, self.position):
            if memory is None:
                lines, count = _core.read_lines(*place, min(size, left))
            else:
                end, count = _core.read_lines_into(*place, memory[: min(size, left)])
                lines = memory[:end]
            if not count and (length := _core.find_newline(*place, self._limit)) >= 0:
                lines, count = _core.read_lines(*place, length + 1)
        self._ahead.clear()
        if not count:
            self._source.skip_to(self.position)
            return None
        part = RawPart(self._segment.file, self.line, self.position, lines, self._kind)
        self.position += len(lines)
        self.line += count
        self.is_done = self._end is not None and self.position >= self._end
        return part

    @property
    def place(self) -> tuple[int, int]:
        """Offset and line of a Place where reading can resume."""
        return self.position, self.line

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes of the file, and of the text in it, since this reader was made."""
        text = self.position - self._first
        return text if self._is_plain else self._source.consumed - self._first_consumed, text

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _seek(self, start: Place) -> None:
        begin = self._segment.begin
        if start.offset > begin:
            self._source.skip_to(start.offset)
            self.position, self.line = start.offset, start.line
        elif begin == 0:
            head = self._source.read(len(_BOM))
            if head == _BOM:
                self.position = len(_BOM)
            else:
                self._ahead += head
        else:
            self._seek_line(begin)

    def _seek_line(self, begin: int) -> None:
        """Go to the first line that starts in the range: after a newline, from one byte early."""
        self._source.skip_to(begin - 1)
        self.position = begin - 1
        while self._end is None or self.position < self._end - 1:
            chunk = self._source.read(_SCAN_BYTES)
            newline = chunk.find(b"\n")
            if newline >= 0:
                self.position += newline + 1
                self._ahead += chunk[newline + 1 :]
                break
            self.position += len(chunk)
            if not chunk:
                break
        else:
            self.is_done = True  # a line that started earlier fills the whole range
            return
        self.is_done = newline < 0 or (self._end is not None and self.position >= self._end)

    def _fill(self, size: int) -> None:
        if self._is_at_end:
            return
        want = max(size - len(self._buffer), min(size, _SCAN_BYTES))
        if self._end is not None:
            left = self._end - self.position - len(self._buffer)
            want = min(want, left) if left > 0 else _SCAN_BYTES
        self._is_at_end = self._append(want) < want

    def _append(self, want: int) -> int:
        """Append up to `want` bytes to the buffer, fewer only at the end; return how many."""
        taken = min(want, len(self._ahead))
        if not self._buffer and taken == len(self._ahead):
            self._buffer, self._ahead = self._ahead, self._buffer
        else:
            self._buffer += self._ahead[:taken]
            del self._ahead[:taken]
        return taken + self._source.append_to(self._buffer, want - taken)

    def _find_cut(self, searched: int) -> tuple[int, int]:
        """Return how many bytes are whole records, and how many records those are."""
        if self._separator is None:
            self.is_done = self._is_at_end
            return (len(self._buffer), 1) if self.is_done else (0, 0)
        if self._end is not None:
            last = self._buffer.find(b"\n", max(self._end - 1 - self.position, searched))
            if last >= 0:
                del self._buffer[last + 1 :]
                self.is_done = True
        view = memoryview(self._buffer)
        overlap = max(searched - len(self._separator) + 1, 0)
        cut, count = _core.last_cut(view[overlap:], self._separator)
        cut = cut + overlap if count else 0
        if self._is_at_end and not self.is_done:
            self.is_done = True
            rest = len(self._buffer) - cut
            return len(self._buffer), count + (1 if rest else 0)
        return cut, count

    def _take(self, cut: int, count: int) -> RawPart | None:
        part = None
        if cut or self._separator is None:
            self._ahead[:0] = self._buffer[cut:]
            del self._buffer[cut:]
            part = RawPart(self._segment.file, self.line, self.position, self._buffer, self._kind)
            self._buffer = bytearray()
        self.position += cut
        self.line += count
        self._fits = False
        return part

    def _is_too_long(self, held: int) -> bool:
        """Return whether the record that fills the buffer is too long, and to be skipped."""
        if held > self._limit or held <= _HOLD_BYTES or self._fits or not self._is_seekable:
            return held > self._limit
        here, ahead = self._source.position, self._ahead
        length, _, _ = self._find_end(self._limit)
        self._source.skip_to(here)
        self._ahead = ahead
        self._fits = length <= self._limit
        return not self._fits

    def _find_end(self, most: float) -> tuple[int, bytes, bool]:
        """Read to the end of the record, or until it has more than `most` bytes.

        Returns its length, what was read after its separator, and whether it has one.
        """
        separator = self._separator or b""
        keep = max(len(separator) - 1, 0)  # of a separator that spans two chunks
        length = len(self._buffer)
        tail = bytes(self._buffer[length - keep :])
        while length <= most:
            chunk, self._ahead = bytes(self._ahead), bytearray()
            chunk = chunk or self._source.read(_SKIP_BYTES)
            window = tail + chunk if tail else chunk
            at = window.find(separator) if separator else -1
            if at >= 0:
                return length + at - len(tail), window[at + len(separator) :], True
            length += len(chunk)
            if not chunk:
                break
            tail = window[len(window) - keep :]
        return length, b"", False

    def _skip_record(self) -> None:
        """Skip a record that is too long, and keep only its place and its first bytes."""
        raw = bytes(self._buffer[:RAW_BYTES])
        length, rest, has_separator = self._find_end(math.inf)
        self._buffer, self._ahead = bytearray(), bytearray(rest)
        self._is_at_end = not has_separator
        message = too_long_message(self._limit)
        place = (self._segment.file, self.line, self.position, length)
        self.bad.append(BadRecord("too_long", *place, message, raw))
        self.position += length + (len(self._separator or b"") if has_separator else 0)
        self.line += 1
        past = self._end is not None and self.position >= self._end
        self.is_done = past or self._is_at_end
