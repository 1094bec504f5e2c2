"""What a line of JSONL gives, by Python's json module: slow and obvious."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_WHITE = b" \t\r\n"
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Line:
    """A text, or the reason why there is none; None for a blank line."""

    text: bytes | None
    reason: str | None
    repaired: tuple[str, ...] = ()


def look_up(value: object, path: str) -> tuple[bool, object]:
    """Return whether the field is there, and its value."""
    if not isinstance(value, dict):
        return False, None
    if path in value:
        return True, value[path]
    head, dot, rest = path.partition(".")
    return look_up(value[head], rest) if dot and head in value else (False, None)


def read_line(
    line: bytes,
    field: str,
    max_document_bytes: int = 1 << 30,
    replace: frozenset[str] = frozenset(),
) -> Line | None:
    """Read one line without its newline."""
    if not line.strip(_WHITE):
        return None
    repaired = []
    try:
        decoded = line.decode()
    except UnicodeDecodeError:
        if "bad_utf8" not in replace:
            return Line(None, "bad_utf8")
        decoded = line.decode(errors="replace")
        repaired.append("bad_utf8")
    try:
        value: object = json.loads(decoded, parse_int=lambda _: 0, parse_float=lambda _: 0.0)
    except (ValueError, RecursionError):
        return Line(None, "bad_json")
    return read_value(value, field, max_document_bytes, replace, repaired)


def read_value(  # noqa: PLR0911 -- a reason each
    value: object, field: str, max_bytes: int, replace: frozenset[str], repaired: list[str]
) -> Line:
    """Take the field out of a parsed line."""
    is_there, text = look_up(value, field)
    if not isinstance(value, dict):
        return Line(None, "wrong_type")
    if not is_there:
        return Line(None, "missing_field")
    if not isinstance(text, str):
        return Line(None, "null_field" if text is None else "wrong_type")
    if _LONE.search(text):
        if "lone_surrogate" not in replace:
            return Line(None, "lone_surrogate")
        text = _LONE.sub("\ufffd", text)
        repaired.append("lone_surrogate")
    encoded = text.encode()
    if not encoded:
        return Line(None, "empty_text")
    if len(encoded) > max_bytes:
        return Line(None, "too_long")
    return Line(encoded, None, tuple(repaired))
