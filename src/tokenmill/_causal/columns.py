"""Columns of a dataset: which one holds the text, which ones are kept, which are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tokenmill._errors import OptionError
from tokenmill._read import USUAL_FIELDS, choose_field
from tokenmill._read.columns import is_text

if TYPE_CHECKING:
    from tokenmill._causal.log import Log
    from tokenmill._causal.options import Options


def choose_columns(schema: pa.Schema, options: Options, log: Log, where: str) -> str:
    """Return the text column; log which it is, and which other columns are kept."""
    column = _text_column(schema, options.text_column, where)
    missing = [name for name in options.keep_columns if name not in schema.names]
    if missing:
        problem = f"there is no column {', '.join(map(repr, missing))}"
        raise OptionError(problem, where=f"{where}keep_columns", hint=_columns(schema))
    if options.text_column is None:
        log.info(f"{where}text column {column!r} (detected)")
    kept = set(options.keep_columns)
    dropped = [name for name in schema.names if name != column and name not in kept]
    if column not in kept and not dropped and not kept:
        return column
    kept_words = f"kept {', '.join(options.keep_columns)}; " if kept else ""
    log.info(f"{where}columns: {kept_words}dropped {', '.join(dropped) or 'none'}")
    return column


def _text_column(schema: pa.Schema, given: str | None, where: str) -> str:
    place = f"{where}text_column"
    if given is not None and given not in schema.names:
        raise OptionError(f"there is no column {given!r}", where=place, hint=_columns(schema))
    if given is not None:
        kind = schema.field(given).type
        if not (is_text(kind) or _is_binary(kind) or pa.types.is_null(kind)):
            problem = f"expected strings, got column {given!r} of {kind}"
            raise OptionError(problem, where=place, hint=_columns(schema))
        return given
    chosen = choose_field(_text_fields(schema))
    if chosen is not None:
        return chosen
    count = sum(_text_fields(schema).values())
    *names, last = map(repr, USUAL_FIELDS)
    problem = (
        f"{count} columns hold strings and none of them is called {', '.join(names)} or {last}"
    )
    if not count:
        problem = "no column holds strings"
    raise OptionError(problem, where=place, hint=f"name it; {_columns(schema)}")


def _text_fields(schema: pa.Schema) -> dict[str, bool]:
    """Return which columns may be the text: strings, and bytes if there are no strings.

    Bytes with a usual name always count. So does "text" if it has only been None so far, since
    its type is not known yet.
    """
    fields = {field.name: is_text(field.type) for field in schema}
    only_bytes = not any(fields.values())
    for field in schema:
        if _is_binary(field.type) and (only_bytes or field.name in USUAL_FIELDS):
            fields[field.name] = True
    if USUAL_FIELDS[0] in fields and pa.types.is_null(schema.field(USUAL_FIELDS[0]).type):
        fields[USUAL_FIELDS[0]] = True
    return fields


def _is_binary(kind: pa.DataType) -> bool:
    """Whether a column of this type holds bytes, which may be UTF-8."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def _columns(schema: pa.Schema) -> str:
    names = ", ".join(f"{field.name} ({field.type})" for field in schema)
    return f"the columns are {names}" if names else "the dataset has no columns"
