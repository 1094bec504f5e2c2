"""What callers give as texts -> str, with the errors of the core; for the reference libraries."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tokenmill._errors import InvalidUtf8, TextTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

REPLACE = 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_TEXT_HINT = "texts are str, bytes-like, or an Arrow array of strings"


def list_of(texts: Any) -> Sequence[object]:  # noqa: ANN401 -- anything the core takes
    """List the texts, out of an Arrow array too."""
    if isinstance(texts, (list, tuple)):
        return texts
    pa = import_module("pyarrow")
    array = pa.chunked_array(texts) if hasattr(texts, "__arrow_c_stream__") else pa.array(texts)
    raw_types = {
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }
    if array.type not in {*raw_types, *raw_types.values()}:
        problem = f"expected an Arrow array of strings, got {array.type}"
        raise TextTypeError(problem, hint=_TEXT_HINT)
    # As bytes: pyarrow would decode strings without naming the one that is not UTF-8.
    rows: list[object] = array.cast(raw_types.get(array.type, array.type)).to_pylist()
    if None in rows:
        raise TextTypeError("expected text, got null", document=rows.index(None), hint=_TEXT_HINT)
    return rows


def text_of(text: object, document: int | None) -> str | bytes:
    """Return a str, or the bytes of whatever has a buffer without gaps."""
    if isinstance(text, (str, bytes)):
        return text
    try:
        buffer = memoryview(text)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        buffer = None
    if buffer is None or not buffer.c_contiguous:
        problem = f"expected str or bytes-like, got {type(text).__name__}"
        raise TextTypeError(problem, document=document, hint=_TEXT_HINT)
    return buffer.tobytes()


def str_of(text: str | bytes, document: int | None, errors: int) -> str:
    if isinstance(text, str):
        return _checked_str(text, document, errors)
    try:
        return text.decode("utf-8", "replace" if errors == REPLACE else "strict")
    except UnicodeDecodeError as error:
        raise InvalidUtf8(
            f"not UTF-8, got byte {error.object[error.start]:#04x}",
            document=document,
            offset=error.start,
            hint="errors='replace' puts U+FFFD there",
        ) from error


def _checked_str(text: str, document: int | None, errors: int) -> str:
    """Refuse or replace lone surrogates, which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if errors == REPLACE:
            return _SURROGATE.sub("\ufffd", text)
        raise InvalidUtf8(
            "a lone surrogate, which UTF-8 cannot hold",
            document=document,
            offset=len(text[: error.start].encode()),
            hint="errors='replace' puts U+FFFD there",
        ) from error
    return text
