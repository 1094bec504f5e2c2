"""A file of sample texts -> texts, for `--warm FILE`: JSONL, or one text per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import BadRecordFound

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

_JSON = {".jsonl", ".ndjson", ".json"}
_FIELDS = ("text", "prompt", "content")


def read_warm_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the texts of a file, one per line.

    In a file that is called .jsonl or .ndjson, a line is a JSON string or an object with the text
    in "text", "prompt" or "content". In any other file, a line is a text.
    """
    file = Path(path)
    is_json = file.suffix in _JSON
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            text = line.removesuffix("\n")
            if text:
                yield _text_of(text, file, number) if is_json else text


def _text_of(line: str, file: Path, number: int) -> str:
    try:
        value: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise _fault(file, number, f"not JSON: {error.msg}") from error
    if isinstance(value, dict):
        value = next((value[field] for field in _FIELDS if field in value), None)
    if not isinstance(value, str):
        raise _fault(file, number, f"expected a text, got {type(value).__name__}")
    return value


def _fault(file: Path, number: int, problem: str) -> BadRecordFound:
    hint = f"a line is a JSON string, or an object with one of {', '.join(_FIELDS)}"
    return BadRecordFound(problem, path=str(file), line=number, hint=hint)
