"""Rows of a table -> texts: from Arrow columns, without a copy if possible, and from objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tokenmill._errors import Hint, Option, OptionError
from tokenmill._read.blocks import RAW_BYTES, REASONS, BadRecord
from tokenmill._read.parse import ParsedPart, check_texts, message_of, take_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._read.blocks import RawPart
    from tokenmill._read.rules import ReadRules

_GOOD = 255
_NUMBER = {reason: number for number, reason in enumerate(REASONS)}
_WRONG = _NUMBER["wrong_type"]
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class BadRow:
    """A row with another number of fields than its header, or one that is too long."""

    row: list[str]
    reason: str = "bad_row"

    @property
    def raw(self) -> bytes:
        """Its first bytes, about as in the file."""
        return ",".join(self.row)[:RAW_BYTES].encode("utf-8", "surrogateescape")[:RAW_BYTES]


def find_column(schema: Any, field: str, path: str) -> tuple[str, ...]:  # pyarrow
    """Return the path of a column: its own name, or the names of the structs around it."""
    names = list(schema.names)
    if field in names:
        return (field,)
    head, dot, rest = field.partition(".")
    if dot and head in names:
        kind = schema.field(head).type
        if pa.types.is_struct(kind):
            return (head, *find_column(pa.schema(list(kind)), rest, path))
    raise OptionError(
        f"no column {field!r}, got {', '.join(names) or 'none'}",
        where=path,
        hint=Hint("name the text column with {}", Option("field")),
    )


def is_text(kind: Any) -> bool:  # pyarrow has no types
    """Whether a column of this type can be text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def parse_rows(part: RawPart, rules: ReadRules, field: str) -> ParsedPart:
    """Extract the texts of some rows."""
    rows = _objects(part.data, rules, field) if isinstance(part.data, list) else _column(part.data)
    checked = check_texts(rows.data, rows.begins, rows.ends, rules)
    reasons = np.where(rows.reasons == _GOOD, checked, rows.reasons)
    found = take_texts(rows.data, rows.begins, rows.ends, reasons, rules)
    kept = found.reasons == _GOOD
    bad = [
        _bad_record(part, rows, i, REASONS[found.reasons[i]], (rules, field))
        for i in np.flatnonzero(~kept).tolist()
    ]
    return ParsedPart(
        found.text,
        found.offsets,
        np.flatnonzero(kept) + part.line,
        np.full(np.count_nonzero(kept), -1, np.int64),
        bad,
        repaired_utf8=found.repaired,
        repaired_surrogates=int(np.count_nonzero(rows.repaired & kept)),
    )


@dataclass
class _Rows:
    """Where texts are in a buffer, and what is known to be wrong with each row."""

    data: Any  # with a buffer
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    reasons: NDArray[np.int64]
    repaired: NDArray[np.bool_]  # lone surrogates were replaced


def _column(column: Any) -> _Rows:  # an Arrow array
    """Use the buffers of a column of strings or bytes, without a copy."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())
    wide = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    narrow = pa.types.is_string(column.type) or pa.types.is_binary(column.type)
    is_null = _null_mask(column, has_bits=wide or narrow)
    reasons = np.where(is_null, _NUMBER["null_field"], _GOOD if wide or narrow else _WRONG)
    repaired = np.zeros(len(column), bool)
    if not wide and not narrow:
        none = np.zeros(len(column), np.int64)
        return _Rows(b"", none, none, reasons, repaired)
    _, places, data = column.buffers()
    offsets = np.zeros(1, np.int64)
    if len(column):
        offsets = np.frombuffer(places, np.int64 if wide else np.int32)
        offsets = offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)
    return _Rows(b"" if data is None else data, offsets[:-1], offsets[1:], reasons, repaired)


def _null_mask(column: Any, *, has_bits: bool) -> NDArray[np.bool_]:  # an Arrow array
    """Return which rows are null; from the bits of the column, because to_numpy imports pandas."""
    if column.null_count == 0:
        return np.zeros(len(column), bool)
    if not has_bits:
        return np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool)
    bits = np.unpackbits(np.frombuffer(column.buffers()[0], np.uint8), bitorder="little")
    nulls: NDArray[np.bool_] = bits[column.offset : column.offset + len(column)] == 0
    return nulls


def _objects(rows: list[Any], rules: ReadRules, field: str) -> _Rows:
    """Encode the texts of rows that are Python objects."""
    found = [_object_text(row, field, repairs="lone_surrogate" in rules.replace) for row in rows]
    lengths = np.array([len(text) for text, _, _ in found], np.int64)
    ends = np.cumsum(lengths)
    return _Rows(
        b"".join(text for text, _, _ in found),
        ends - lengths,
        ends,
        np.array([reason for _, reason, _ in found], np.int64),
        np.array([repaired for _, _, repaired in found], bool),
    )


def _object_text(row: Any, field: str, *, repairs: bool) -> tuple[bytes, int, bool]:
    """Return a text or a printed row, what is wrong with it, and whether it was repaired."""
    if isinstance(row, BadRow):
        return row.raw, _NUMBER[row.reason], False
    is_there, value = (True, row) if isinstance(row, (str, bytes)) else _look_up(row, field)
    if isinstance(value, bytes):
        return value, _GOOD, False
    if not isinstance(value, str):
        reason = (
            "missing_field" if not is_there else "null_field" if value is None else "wrong_type"
        )
        shown = ascii(row)[:RAW_BYTES].encode()
        return shown, _NUMBER[reason if isinstance(row, Mapping) else "wrong_type"], False
    try:
        return value.encode(), _GOOD, False
    except UnicodeEncodeError:
        if repairs:
            return _LONE.sub("\ufffd", value).encode(), _GOOD, True
        return value.encode("utf-8", "surrogatepass"), _NUMBER["lone_surrogate"], False


def _look_up(row: object, field: str) -> tuple[bool, object]:
    """Follow a dotted path; a field whose own name has the dots comes first."""
    if not isinstance(row, Mapping):
        return False, None
    if field in row:
        return True, row[field]
    head, dot, rest = field.partition(".")
    return _look_up(row[head], rest) if dot and head in row else (False, None)


def _bad_record(
    part: RawPart, rows: _Rows, row: int, reason: str, asked: tuple[ReadRules, str]
) -> BadRecord:
    begin, length = int(rows.begins[row]), int(rows.ends[row] - rows.begins[row])
    raw = bytes(memoryview(rows.data)[begin : begin + min(length, RAW_BYTES)])
    if reason == "too_long" and length <= asked[0].max_document_bytes:
        length = asked[0].max_line_bytes + 1  # only the start of a row of CSV was kept
        return BadRecord(
            reason, part.file, part.line + row, -1, -1, message_of(reason, *asked, -1, length), raw
        )
    message = message_of(reason, *asked, -1, length)
    has_length = reason not in ("null_field", "missing_field", "wrong_type", "bad_row")
    return BadRecord(
        reason, part.file, part.line + row, -1, length if has_length else -1, message, raw
    )
