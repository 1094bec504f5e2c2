"""Columns of a dataset: which one holds the text, which ones are kept, which are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from tokenmill._causal.options import Options
    from tokenmill._causal.voice import Voice

USUAL_NAME = "text"


def is_text(kind: pa.DataType) -> bool:
    """Say whether a column of this type holds texts: strings, or the bytes of UTF-8."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        test(kind)
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
        )
    )


def choose_columns(schema: pa.Schema, options: Options, voice: Voice, where: str) -> str:
    """Return the text column; say which it is, and what becomes of the others."""
    column = _text_column(schema, options.text_column, where)
    missing = [name for name in options.keep_columns if name not in schema.names]
    if missing:
        problem = f"there is no column {', '.join(map(repr, missing))}"
        raise OptionError(problem, where=f"{where}keep_columns", hint=_columns(schema))
    if options.text_column is None:
        voice.info(f"{where}text column {column!r} (found)")
    kept = set(options.keep_columns)
    dropped = [name for name in schema.names if name != column and name not in kept]
    if column not in kept and not dropped and not kept:
        return column
    kept_words = f"kept {', '.join(options.keep_columns)}; " if kept else ""
    voice.info(f"{where}columns: {kept_words}dropped {', '.join(dropped) or 'none'}")
    return column


def _text_column(schema: pa.Schema, given: str | None, where: str) -> str:
    place = f"{where}text_column"
    if given is not None and given not in schema.names:
        raise OptionError(f"there is no column {given!r}", where=place, hint=_columns(schema))
    if given is not None:
        kind = schema.field(given).type
        if not (is_text(kind) or pa.types.is_null(kind)):
            problem = f"expected strings, got column {given!r} of {kind}"
            raise OptionError(problem, where=place, hint=_columns(schema))
        return given
    texts: list[str] = [field.name for field in schema if is_text(field.type)]
    if USUAL_NAME in texts or _holds_nothing(schema, USUAL_NAME):
        return USUAL_NAME
    if len(texts) == 1:
        return texts[0]
    problem = f"{len(texts)} columns hold strings and none of them is called {USUAL_NAME!r}"
    if not texts:
        problem = "no column holds strings"
    raise OptionError(problem, where=place, hint=f"name it; {_columns(schema)}")


def _holds_nothing(schema: pa.Schema, name: str) -> bool:
    """Say whether a column has been None so far, so that its type is not known."""
    return name in schema.names and pa.types.is_null(schema.field(name).type)


def _columns(schema: pa.Schema) -> str:
    names = ", ".join(f"{field.name} ({field.type})" for field in schema)
    return f"the columns are {names}" if names else "the dataset has no columns"
