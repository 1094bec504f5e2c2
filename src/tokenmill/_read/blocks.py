"""What readers return: blocks of documents with their places, and the bad records.

Positions are absolute: bytes of the (decompressed) file. Line numbers count from 1 within the
*segment* (see `streams.py`), because the reader of a byte range in the middle of a file does not
know how many lines are before it. In a segment at the start of a file, and so in every file that is
not divided, these are the numbers in the file. For the others, add the `segment_lines` of the last
block of each earlier segment of the same file; it includes blank and bad lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Why a record is bad. The order is that of the numbers in the core.
REASONS = (
    "bad_json",  # not JSON, or more than one value on a line
    "missing_field",
    "null_field",
    "wrong_type",  # the field is not a string, or the line not an object
    "bad_utf8",
    "lone_surrogate",  # \ud800 without its other half, which UTF-8 cannot store
    "empty_text",
    "too_long",  # longer than `max_document_bytes`: never read into memory
    "bad_row",  # a row of CSV with another number of fields than its header
    "bad_file",  # a whole file that cannot be read to its end, or has no text field
)


@dataclass(frozen=True)
class BadRecord:
    """A record without a document: why, where, and its first bytes."""

    reason: str
    file: int  # number of the input file
    line: int  # from 1 within the segment: the line, or the row of a table
    offset: int  # of the line's first byte in the (decompressed) file; -1 in tables
    length: int  # in bytes, without the line's end; -1 if unknown
    message: str  # what is wrong, for people
    raw: bytes  # its first bytes, at most RAW_BYTES


RAW_BYTES = 4096


@dataclass(frozen=True)
class Place:
    """A position in a stream, before a record, where reading can resume."""

    segment: int = 0
    offset: int = 0  # bytes of the (decompressed) file, or row groups of a Parquet file
    line: int = 1  # the number that the next line or row has within the segment


@dataclass(frozen=True)
class Block:
    """Some consecutive documents of a stream.

    Document `i` is `text[offsets[i]:offsets[i + 1]]`, valid UTF-8. It is in input file
    `files[i]` at `lines[i]` (from 1 within its segment), `positions[i]` bytes into the
    (decompressed) file, -1 in tables. A block may be empty, even the last one of a stream.
    """

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    files: NDArray[np.int32]
    lines: NDArray[np.int64]
    positions: NDArray[np.int64]
    bad: tuple[BadRecord, ...]
    after: Place
    ends_stream: bool
    replaced: dict[str, int] = field(default_factory=dict)  # documents repaired, by reason
    blank_lines: int = 0
    input_bytes: int = 0  # of the file as stored
    text_bytes: int = 0  # decompressed
    # Lines or rows, blank and bad ones included, from the start of the segment to the end of this
    # block; the segment is that of its last record, or the last one that ended in it.
    segment_lines: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class RawPart:
    """Consecutive whole records of one file, not parsed yet.

    `data` is a buffer of bytes; a column of a table as an Arrow array; or a list of objects.
    """

    file: int
    line: int  # of the first record, from 1 within its segment
    offset: int  # of the first byte in the (decompressed) file; -1 in tables
    data: Any
    kind: str  # "jsonl", "text" or "rows"


@dataclass(frozen=True)
class RawBlock:
    """What `StreamReader.read` returns; `parse` turns it into a Block."""

    parts: tuple[RawPart, ...]
    bad: tuple[BadRecord, ...]  # found while reading: too long for memory
    after: Place
    ends_stream: bool
    input_bytes: int
    text_bytes: int
    segment_lines: int
