"""Raw blocks -> blocks of documents. Pure functions: any thread may call them, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import _core
from tokenmill._read.blocks import RAW_BYTES, REASONS, BadRecord, Block, RawBlock, RawPart
from tokenmill._read.records import too_long_message
from tokenmill._read.rules import FILE_MODE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._read.rules import ReadRules

    Places = NDArray[np.int64]

_GOOD = 255
_BLANK = 254
_BAD_UTF8 = REASONS.index("bad_utf8")
_TOO_LONG = REASONS.index("too_long")


@dataclass
class ParsedPart:
    """The documents of one raw part; `lines` and `positions` are final."""

    text: NDArray[np.uint8]
    offsets: Places
    lines: Places
    positions: Places
    bad: list[BadRecord]
    blank_lines: int = 0
    repaired_utf8: int = 0
    repaired_surrogates: int = 0


def parse(raw: RawBlock, rules: ReadRules, fields: Sequence[str]) -> Block:
    """Extract the texts of a raw block, and the reasons why other records have none."""
    return _block(raw, [_parse_part(part, rules, fields[part.file]) for part in raw.parts])


def _block(raw: RawBlock, parts: list[ParsedPart]) -> Block:
    files = [np.full(len(p.lines), r.file, np.int32) for p, r in zip(parts, raw.parts, strict=True)]
    replaced = {
        "bad_utf8": sum(part.repaired_utf8 for part in parts),
        "lone_surrogate": sum(part.repaired_surrogates for part in parts),
    }
    return Block(
        text=_concat([part.text for part in parts], np.uint8),
        offsets=_concat_offsets([part.offsets for part in parts]),
        files=_concat(files, np.int32),
        lines=_concat([part.lines for part in parts], np.int64),
        positions=_concat([part.positions for part in parts], np.int64),
        bad=tuple(_in_order([*(record for part in parts for record in part.bad), *raw.bad])),
        after=raw.after,
        ends_stream=raw.ends_stream,
        replaced={reason: count for reason, count in replaced.items() if count},
        blank_lines=sum(part.blank_lines for part in parts),
        input_bytes=raw.input_bytes,
        text_bytes=raw.text_bytes,
        segment_lines=raw.segment_lines,
    )


def _parse_part(part: RawPart, rules: ReadRules, field: str) -> ParsedPart:
    if part.kind == "jsonl":
        return _parse_jsonl(part, rules, field)
    if part.kind == "text":
        return _parse_text(part, rules)
    from tokenmill._read.columns import parse_rows  # brings pyarrow

    return parse_rows(part, rules, field)


def _parse_jsonl(part: RawPart, rules: ReadRules, field: str) -> ParsedPart:
    text, offsets, lines, begins, bad, counts = _core.read_jsonl(
        part.data,
        field,
        rules.max_document_bytes,
        rules.max_line_bytes,
        "bad_utf8" in rules.replace,
        "lone_surrogate" in rules.replace,
    )
    return _parsed_lines(part, rules, field, (text, offsets), (lines, begins, bad, counts))


def encoded_lines(
    raw: RawBlock, rules: ReadRules, field: str, places: tuple[Places, Places, Places, Places]
) -> Block:
    """Return the block of a raw one whose only part is JSONL, without texts.

    `places` are lines, begins, bad lines and counts, as `_core.read_jsonl` returns them.
    """
    no_texts = np.zeros(0, np.uint8), np.zeros(len(places[0]) + 1, np.int64)
    return _block(raw, [_parsed_lines(raw.parts[0], rules, field, no_texts, places)])


def _parsed_lines(
    part: RawPart,
    rules: ReadRules,
    field: str,
    texts: tuple[NDArray[np.uint8], Places],
    places: tuple[Places, Places, Places, Places],
) -> ParsedPart:
    lines, begins, bad, counts = places
    records = []
    for line, begin, length, fault, reason in bad.reshape(-1, 5).tolist():
        message = message_of(REASONS[reason], rules, field, fault, length)
        raw = bytes(part.data[begin : begin + min(length, RAW_BYTES)])
        place = (part.file, part.line + line, part.offset + begin, length)
        records.append(BadRecord(REASONS[reason], *place, message, raw))
    _, blank, repaired_utf8, repaired_surrogates = counts.tolist()
    return ParsedPart(
        *texts,
        lines + part.line,
        begins + part.offset,
        records,
        blank,
        repaired_utf8,
        repaired_surrogates,
    )


def _parse_text(part: RawPart, rules: ReadRules) -> ParsedPart:
    separator = rules.separator_of("text")
    if rules.text_mode == FILE_MODE or separator is None:
        begins, ends = np.zeros(1, np.int64), np.array([len(part.data)], np.int64)
    else:
        begins, ends = split_text(part.data, separator)
    reasons = check_texts(part.data, begins, ends, rules, skip_blank=separator is not None)
    found = take_texts(part.data, begins, ends, reasons, rules)
    for i in np.flatnonzero(found.reasons < _BLANK).tolist():
        begin, length = int(begins[i]), int(ends[i] - begins[i])
        reason = REASONS[found.reasons[i]]
        raw = bytes(part.data[begin : begin + min(length, RAW_BYTES)])
        place = (part.file, part.line + i, part.offset + begin, length)
        found.bad.append(BadRecord(reason, *place, message_of(reason, rules, "", -1, length), raw))
    kept = np.flatnonzero(found.reasons == _GOOD)
    return ParsedPart(
        found.text,
        found.offsets,
        kept + part.line,
        begins[kept] + part.offset,
        found.bad,
        int(np.count_nonzero(found.reasons == _BLANK)),
        found.repaired,
    )


def split_text(data: Any, separator: bytes) -> tuple[Places, Places]:
    """Return where the pieces start and end; there is none after the last separator."""
    if separator == b"\n":
        begins, ends = _core.split_text(data)
    else:
        begins, ends = _core.split_text(data, separator)
        if int(begins[-1]) == len(data):
            begins, ends = begins[:-1], ends[:-1]
    return begins, ends


def check_texts(
    data: Any,  # anything with a buffer
    begins: Places,
    ends: Places,
    rules: ReadRules,
    *,
    skip_blank: bool = False,
) -> Places:
    """Return for each text the number of its reason in REASONS, or _GOOD or _BLANK."""
    return _core.check_texts(data, begins, ends, rules.max_document_bytes, skip_blank)


@dataclass
class Taken:
    """Good and repaired texts back to back, and a reason or _GOOD for each text that was given."""

    text: NDArray[np.uint8]
    offsets: Places
    reasons: Places
    repaired: int
    bad: list[BadRecord]


def take_texts(
    data: Any,  # anything with a buffer
    begins: Places,
    ends: Places,
    reasons: Places,
    rules: ReadRules,
) -> Taken:
    """Copy the good texts, and those that the rules repair; without a copy if they are adjacent."""
    is_repaired = (
        reasons == _BAD_UTF8 if "bad_utf8" in rules.replace else np.zeros_like(begins, bool)
    )
    kept = (reasons == _GOOD) | is_repaired
    if not is_repaired.any() and _are_adjacent(begins[kept], ends[kept]):
        first = int(begins[kept][0])
        text = np.frombuffer(data, np.uint8)[first : int(ends[kept][-1])]
        offsets = np.append(begins[kept], ends[kept][-1]) - first
        return Taken(text, offsets, reasons, 0, [])
    text, offsets = _core.join_texts(data, begins[kept], ends[kept])
    grown = np.flatnonzero(kept)[np.diff(offsets) > rules.max_document_bytes]
    if len(grown):  # a replacement is longer than the byte it replaces
        reasons = reasons.copy()
        reasons[grown] = _TOO_LONG
        return take_texts(data, begins, ends, reasons, rules)
    reasons = np.where(is_repaired, _GOOD, reasons)
    repaired = int(np.count_nonzero(is_repaired))
    return Taken(text, offsets, reasons, repaired, [])


def _are_adjacent(begins: Places, ends: Places) -> bool:
    return len(begins) > 0 and bool((begins[1:] == ends[:-1]).all())


def message_of(reason: str, rules: ReadRules, field: str, fault: int, length: int) -> str:
    """Return for people what is wrong; `fault` is a byte of the line, or -1."""
    if reason == "too_long":
        is_line = length > rules.max_line_bytes
        return too_long_message(rules.max_line_bytes if is_line else rules.max_document_bytes)
    return MESSAGES[reason].format(field=field, fault=fault)


MESSAGES = {
    "bad_json": "not a single JSON value: error at byte {fault} of the line",
    "missing_field": "no field {field!r}",
    "null_field": "field {field!r} is null",
    "wrong_type": "not a JSON object, or its field {field!r} is not a string",
    "bad_utf8": "not UTF-8",
    "lone_surrogate": "half of a surrogate pair, which is not valid text",
    "empty_text": "the text is empty",
    "bad_row": "wrong number of fields, or an unclosed quote",
}


def _in_order(bad: list[BadRecord]) -> list[BadRecord]:
    """Sort records by place: those that were too long come separately from the others."""
    return sorted(bad, key=lambda record: (record.file, record.line))


def _concat(arrays: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _concat_offsets(offsets: list[Places]) -> Places:
    if len(offsets) == 1:
        return offsets[0]
    moved = [np.zeros(1, np.int64)]
    total = 0
    for part in offsets:
        moved.append(part[1:] + total)
        total += int(part[-1])
    return np.concatenate(moved)
