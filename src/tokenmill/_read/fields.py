"""Which field of a file holds the text: the one that was asked for, or the one that can only be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokenmill._errors import OptionError
from tokenmill._read import formats
from tokenmill._read.inputs import STDIN
from tokenmill._read.sources import open_source

if TYPE_CHECKING:
    from tokenmill._read.inputs import InputFile
    from tokenmill._read.rules import ReadRules

USUAL_FIELDS = ("text", "content", "raw_content")
_SAMPLE_BYTES = 1 << 20
_LONGEST_SAMPLE = 64 << 20  # where the first line is so long
_SAMPLE_LINES = 200


def find_field(file: InputFile, rules: ReadRules) -> str:
    """Return the text field of a file; "" for plain text, which has none."""
    if file.format == "text":
        return ""
    if rules.field is not None and file.format in ("jsonl", "dataset"):
        return rules.field  # every record answers for itself
    fields = _fields_of(file, rules)
    if rules.field is not None:
        if rules.field not in fields and rules.field.partition(".")[0] not in fields:
            raise OptionError(
                f"no column {rules.field!r}, got {', '.join(fields) or 'none'}",
                where=file.path,
                hint="name the text column with --field",
            )
        return rules.field
    for name in USUAL_FIELDS:
        if fields.get(name):
            return name
    texts = [name for name, is_text in fields.items() if is_text]
    if len(texts) == 1:
        return texts[0]
    raise OptionError(
        f"cannot tell which field is the text: {_described(texts, fields)}",
        where=file.path,
        hint="name it with --field (dots lead into nested fields)",
    )


def _described(texts: list[str], fields: dict[str, bool]) -> str:
    if texts:
        return f"{', '.join(texts)} hold strings"
    return f"no field holds strings, got {', '.join(fields) or 'none at all'}"


def _fields_of(file: InputFile, rules: ReadRules) -> dict[str, bool]:
    """Return the fields of a file in order, and whether each holds strings."""
    if file.format == "jsonl":
        return _json_fields(file)
    from tokenmill._read.tables import table_fields  # noqa: PLC0415 -- brings pyarrow

    return table_fields(file, rules)


def _json_fields(file: InputFile) -> dict[str, bool]:
    fields: dict[str, bool] = {}
    for line in _sample(file).split(b"\n")[:_SAMPLE_LINES]:
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            for name, value in record.items():
                fields[name] = fields.get(name, False) or isinstance(value, str)
    return fields


def _sample(file: InputFile) -> bytes:
    """Return the first lines of a file."""
    if file.path == STDIN:
        head = formats.stdin_head()
        return formats.decompressed_head(head, file.compression) if file.compression else head
    source = open_source(file)
    try:
        sample = source.read(_SAMPLE_BYTES)
        while b"\n" not in sample and len(sample) < _LONGEST_SAMPLE:
            more = source.read(len(sample))
            if not more:
                break
            sample += more
    finally:
        source.close()
    return sample.removeprefix(b"\xef\xbb\xbf")
