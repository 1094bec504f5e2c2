"""Reading members of foreign JSON, with an error that names the wrong one."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from tokenmill._errors import LoadError

T = TypeVar("T")

_WORDS: dict[type, str] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a whole number",
    list: "an array",
    str: "a string",
}
_SHOWN = 60
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse_json(text: bytes) -> dict[str, Any]:
    """Parse a JSON object; an error names the line."""
    try:
        data = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        problem = f"expected UTF-8, got byte 0x{text[error.start]:02x}"
        raise LoadError(problem, offset=error.start) from error
    except json.JSONDecodeError as error:
        problem = f"expected JSON, got {error.msg} at column {error.colno}"
        hint = "the file is damaged or incomplete, fetch it again"
        raise LoadError(problem, line=error.lineno, hint=hint) from error
    except ValueError as error:
        raise LoadError("expected a tokenizer, got a number of thousands of digits") from error
    except RecursionError as error:
        problem = "expected a tokenizer, got JSON nested too deeply to be one"
        raise LoadError(problem) from error
    if _SURROGATE.search(text):
        _refuse_surrogates(data)
    return expect(data, dict, "top level")


def _refuse_surrogates(data: object) -> None:
    """Refuse half a surrogate pair, which JSON can write and UTF-8 cannot hold."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        problem = f"expected text, got a lone surrogate {error.object[error.start]!r}"
        raise LoadError(problem) from error


def expect(value: object, kind: type[T], where: str) -> T:
    """Return `value` if it is of `kind`; where: dotted path inside the file."""
    # type() and not isinstance(): True must not pass for a number.
    if type(value) is kind:
        return value
    raise LoadError(f"{where}: expected {_WORDS[kind]}, got {shown(value)}")


def member(data: dict[str, Any], key: str, kind: type[T], where: str) -> T:
    """Return a required member."""
    if key not in data:
        place = f"{where}.{key}" if where else key
        raise LoadError(f"{place}: expected {_WORDS[kind]}, got nothing")
    return expect(data[key], kind, f"{where}.{key}" if where else key)


def optional(data: dict[str, Any], key: str, default: T, where: str) -> T:
    """Return a member, or `default` where it is absent or null."""
    value = data.get(key)
    return default if value is None else expect(value, type(default), f"{where}.{key}")


def type_of(section: object, where: str) -> tuple[str, dict[str, Any]]:
    """Return the "type" of a section and the section."""
    fields = expect(section, dict, where)
    return member(fields, "type", str, where), fields


def shown(value: object) -> str:
    """Write a value of a foreign file into a message, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
