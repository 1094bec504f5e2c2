"""The wire format of protocol buffers: bytes -> numbered fields, without a schema.

Nothing is copied and there is no recursion: a field that holds a message is a range of the same
bytes, which the caller reads in turn.
"""

from __future__ import annotations

from typing import NamedTuple

from tokenmill._errors import LoadError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_GROUP, _END_GROUP = 3, 4
# As deep as the reference implementations go.
_DEEPEST_GROUP = 100
_LARGEST_TAG = 0xFFFF_FFFF
_DAMAGED = "the file is damaged or incomplete, fetch it again"


class WireField(NamedTuple):
    """A field of a message.

    `value`: the number of a varint, the bits of a fixed-width number.
    `start`, `end`: the content of a field of bytes; for any other field, the field itself.
    """

    number: int
    wire: int
    value: int
    start: int
    end: int


def read_fields(data: bytes, start: int, end: int) -> list[WireField]:
    """List the fields of the message in ``data[start:end]``; groups are checked and left out."""
    fields = []
    at = start
    while at < end:
        field_start = at
        # Nearly all tags and sizes have one byte; without this, reading takes twice as long.
        tag, at = (data[at], at + 1) if 8 <= data[at] < 0x80 else _read_tag(data, at, end)  # noqa: PLR2004
        wire = tag & 7
        if wire == BYTES:
            at, stop = _read_extent(data, at, end, field_start)
            fields.append(WireField(tag >> 3, wire, 0, at, stop))
            at = stop
        elif wire == _GROUP:
            at = _skip_group(data, at, end, tag >> 3)
        else:
            value, at = _read_number(data, at, end, tag)
            fields.append(WireField(tag >> 3, wire, value, field_start, at))
    return fields


def damaged(problem: str, offset: int) -> LoadError:
    """Return the error for a damaged file, with the byte."""
    return LoadError(problem, offset=offset, hint=_DAMAGED)


def _read_extent(data: bytes, at: int, end: int, field_start: int) -> tuple[int, int]:
    """Read the size of a field of bytes; return where its content begins and ends."""
    size, at = _read_varint(data, at, end)
    if size > end - at:
        raise damaged(f"expected at most {end - at} bytes in a field, got {size}", field_start)
    return at, at + size


def _read_tag(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read the number of a field, times eight, plus its wire type."""
    tag, after = _read_varint(data, at, end)
    if not 8 <= tag <= _LARGEST_TAG:  # noqa: PLR2004
        problem = f"expected a field number from 1 to {_LARGEST_TAG >> 3}, got {tag >> 3}"
        raise damaged(problem, at)
    return tag, after


def _read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read an unsigned number of up to 64 bits, seven of them in each byte, the lowest first."""
    if at < end and data[at] < 0x80:  # noqa: PLR2004 -- the top bit says that more follows
        return data[at], at + 1
    value = 0
    for index in range(10):
        if at + index >= end:
            raise damaged("expected a number, got the end of its message", at)
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + index + 1
    raise damaged("expected a number of at most ten bytes, got a longer one", at)


def _read_number(data: bytes, at: int, end: int, tag: int) -> tuple[int, int]:
    wire = tag & 7
    if wire == VARINT:
        return _read_varint(data, at, end)
    width = {FIXED64: 8, FIXED32: 4}.get(wire)
    if width is None:
        raise damaged(f"expected the beginning of a field, got wire type {wire}", at)
    if width > end - at:
        raise damaged(f"expected {width} bytes in field {tag >> 3}, got {end - at}", at)
    return int.from_bytes(data[at : at + width], "little"), at + width


def _skip_group(data: bytes, at: int, end: int, number: int) -> int:
    """Return where the group ends; an explicit stack holds nested groups."""
    open_groups = [number]
    while open_groups:
        tag_start = at
        tag, at = _read_tag(data, at, end)
        wire = tag & 7
        if wire == _END_GROUP and tag >> 3 == open_groups[-1]:
            open_groups.pop()
        elif wire == _GROUP and len(open_groups) < _DEEPEST_GROUP:
            open_groups.append(tag >> 3)
        elif wire == BYTES:
            _, at = _read_extent(data, at, end, tag_start)
        elif wire in (_GROUP, _END_GROUP):
            raise damaged("expected groups that end, nested at most 100 deep", tag_start)
        else:
            _, at = _read_number(data, at, end, tag)
    return at
