"""How many bytes a request is, found without reading its text on the event loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SAMPLE = 64  # texts of a list that are looked at
_BYTES_OF_ID = 4  # about what a token stands for
_BYTES_OF_MESSAGE = 64  # that a template takes as long for as for a message itself
_WIDEST = 4  # bytes of UTF-8 for a character


def size_of_text(text: Any) -> int:
    """Return bytes of UTF-8; of a `str` that is not ASCII the number of characters.

    To know more, each of its characters would have to be read: see `may_exceed`.
    """
    if isinstance(text, str):
        return len(text)
    try:
        return memoryview(text).nbytes
    except TypeError:
        return 0  # not a text: the tokenizer says so


def may_exceed(text: Any, limit: int) -> bool:
    """Whether a text of at most `limit` by `size_of_text` can be longer than that after all."""
    return isinstance(text, str) and len(text) * _WIDEST > limit and not text.isascii()


def size_of_texts(texts: Any) -> tuple[int, bool]:
    """Return the bytes of many texts as in `size_of_text`, and whether that is only a guess."""
    nbytes = getattr(texts, "nbytes", None)
    if isinstance(nbytes, int):
        return nbytes, True  # of an Arrow array, offsets included
    if not isinstance(texts, (list, tuple)):
        return 0, True
    count = len(texts)
    if count <= _SAMPLE:
        return sum(map(size_of_text, texts)), False
    step = count // _SAMPLE
    return sum(size_of_text(texts[i * step]) for i in range(_SAMPLE)) * count // _SAMPLE, True


def size_of_ids(ids: Any) -> int:
    """Return about how many bytes of text ids stand for."""
    try:
        return len(ids) * _BYTES_OF_ID
    except TypeError:
        return 0


def size_of_messages(messages: Any) -> int:
    """Return about how many bytes a conversation has; each part that is not text counts a little.

    Parts are kept in a list, not on the stack: their nesting is the caller's.
    """
    size, parts = 0, [messages]
    while parts:
        part = parts.pop()
        if isinstance(part, (str, bytes)):
            size += len(part)
        elif isinstance(part, Mapping):
            size += _BYTES_OF_MESSAGE
            parts += part.values()
        elif isinstance(part, (list, tuple)):
            parts += part
        else:
            size += _BYTES_OF_ID
    return size
