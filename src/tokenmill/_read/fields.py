"""Which field of files holds the text: the one that was asked for, or the only possible one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokenmill._errors import Hint, InputError, Option, OptionError
from tokenmill._read.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokenmill._read.inputs import InputFile
    from tokenmill._read.rules import ReadRules

USUAL_FIELDS = ("text", "content", "raw_content")
_SAMPLE_BYTES = 1 << 20
_LONGEST_SAMPLE = 64 << 20  # if the first line is that long
_SAMPLE_LINES = 200


def find_field(files: Iterable[InputFile], rules: ReadRules) -> str:
    """Return the text field of files that belong together; "" for plain text, which has none.

    The first file with usable records decides: files that are empty, or whose first records are
    all bad, are passed over. So are unreadable files, if the rules skip them.
    """
    first: InputError | OptionError | None = None
    for file in files:
        try:
            return _field_of(file, rules)
        except _NoStrings as error:
            first = first or error
        except (InputError, OptionError) as error:
            if not rules.skip_bad_files:
                raise
            first = first or error
    assert first is not None  # noqa: S101 -- there is a file
    raise first


def choose_field(fields: Mapping[str, bool]) -> str | None:
    """Return the text field, given which fields hold strings; None if that does not decide it.

    A field with a usual name comes first, in the order of USUAL_FIELDS, then the only one that
    holds strings. `pack` and CausalLMTokenizer both use this rule.

        choose_field({"id": False, "title": True, "content": True}) -> "content"
    """
    for name in USUAL_FIELDS:
        if fields.get(name):
            return name
    texts = [name for name, is_text in fields.items() if is_text]
    return texts[0] if len(texts) == 1 else None


class _NoStrings(OptionError):  # noqa: N818 -- like the public errors
    """A file in which no field holds strings."""


def _field_of(file: InputFile, rules: ReadRules) -> str:
    if file.format == "text":
        return ""
    if rules.field is not None and file.format in ("jsonl", "dataset"):
        return rules.field  # each record is checked by itself
    fields = _fields_of(file, rules)
    if rules.field is not None:
        if rules.field not in fields and rules.field.partition(".")[0] not in fields:
            raise OptionError(
                f"no column {rules.field!r}, got {', '.join(fields) or 'none'}",
                where=file.path,
                hint=Hint("name the text column with {}", Option("field")),
            )
        return rules.field
    chosen = choose_field(fields)
    if chosen is not None:
        return chosen
    texts = [name for name, is_text in fields.items() if is_text]
    raise (OptionError if texts else _NoStrings)(
        f"cannot detect which field holds the text: {_described(texts, fields)}",
        where=file.path,
        hint=Hint("name it with {} (use dots for nested fields)", Option("field")),
    )


def field_names(file: InputFile, rules: ReadRules) -> list[str]:
    """Return the fields that the first records of a file have; none if it cannot be read again."""
    if not file.is_resumable or file.format == "text":
        return []
    try:
        return list(_fields_of(file, rules))
    except (InputError, OptionError):
        return []


def _described(texts: list[str], fields: dict[str, bool]) -> str:
    if texts:
        return f"{', '.join(texts)} hold strings"
    return (
        f"no field holds strings; fields: {', '.join(fields)}" if fields else "no record was found"
    )


def _fields_of(file: InputFile, rules: ReadRules) -> dict[str, bool]:
    """Return the fields of a file in order, and whether each holds strings."""
    if file.format == "jsonl":
        return _json_fields(file)
    from tokenmill._read.tables import table_fields  # brings pyarrow

    return table_fields(file, rules)


def _json_fields(file: InputFile) -> dict[str, bool]:
    fields: dict[str, bool] = {}
    lines = _sample(file).split(b"\n")[:_SAMPLE_LINES]
    values = list(map(_value, lines))
    records = [value for value in values if isinstance(value, dict)]
    # In an array with one object per line, only the last object is valid JSON by itself.
    if lines[0].lstrip().startswith(b"[") and len(records) <= (values[0] is None):
        raise InputError(
            "expected one JSON object per line, got an array",
            path=file.path,
            hint="convert it to lines, e.g. with jq -c '.[]'",
        )
    for record in records:
        for name, value in record.items():
            fields[name] = fields.get(name, False) or isinstance(value, str)
    return fields


def _value(line: bytes) -> Any:  # any JSON value
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError):
        return None


def _sample(file: InputFile) -> bytes:
    """Return the first lines of a file."""
    source = open_source(file, look=True)
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
