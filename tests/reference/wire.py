"""What core/wire does, by Python's own JSON: the fields of bodies, or None for a fault."""

from __future__ import annotations

import json
from typing import Any

MOST = 2**32 - 1


def read_object(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body.decode())
    except (ValueError, RecursionError):  # not UTF-8 is a ValueError too
        return None
    return found if isinstance(found, dict) else None


def read_tokenize(body: bytes) -> dict[str, Any] | None:
    fields = read_object(body)
    if fields is None or not _is_name(fields) or not _is_flag(fields, "add_special_tokens"):
        return None
    strings = fields.get("return_token_strs")
    if strings is not None and not isinstance(strings, bool):
        return None
    is_list = isinstance(fields.get("prompt"), list)
    texts: list[Any] = [fields["prompt"]] if "prompt" in fields else []
    texts = texts[0] if is_list else texts
    if not all(isinstance(text, str) and _is_text(text) for text in texts):
        return None
    raw = [text.encode() for text in texts]
    return {
        "model": fields.get("model"),
        "prompt": raw[0] if raw and not is_list else None,
        "prompts": raw if is_list else None,
        "has_messages": "messages" in fields,
        "add_special_tokens": fields.get("add_special_tokens"),
        "return_token_strs": bool(strings),
    }


def read_detokenize(body: bytes) -> dict[str, Any] | None:
    fields = read_object(body)
    if fields is None or not _is_name(fields) or not _is_flag(fields, "skip_special_tokens"):
        return None
    tokens = fields.get("tokens")
    if not isinstance(tokens, list):
        return None
    is_nested = bool(tokens) and isinstance(tokens[0], list)
    rows = tokens if is_nested else [tokens]
    if not all(isinstance(row, list) and all(map(_is_id, row)) for row in rows):
        return None
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row))
    return {
        "model": fields.get("model"),
        "ids": [token for row in rows for token in row],
        "ends": ends,
        "is_nested": is_nested,
        "skip_special_tokens": fields.get("skip_special_tokens"),
    }


def _is_name(fields: dict[str, Any]) -> bool:
    name = fields.get("model")
    return name is None or (isinstance(name, str) and _is_text(name))


def _is_flag(fields: dict[str, Any], name: str) -> bool:
    return name not in fields or isinstance(fields[name], bool)


def _is_text(text: str) -> bool:
    return not any(0xD800 <= ord(c) <= 0xDFFF for c in text)


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
