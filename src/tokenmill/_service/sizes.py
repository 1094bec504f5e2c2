"""How many bytes a request is, without reading its text on the event loop."""

from __future__ import annotations

from typing import Any

_SAMPLE = 64
_BYTES_OF_ID = 4  # about what a token stands for


def size_of_text(text: Any) -> int:
    """Return bytes of UTF-8; for a `str` that is not ASCII as many as it takes in memory, about.

    Characters of two and four bytes would have to be read one by one: those of a long text on a
    thread, see `checks`.
    """
    if isinstance(text, str):
        return len(text) if text.isascii() else text.__sizeof__()
    try:
        return memoryview(text).nbytes
    except TypeError:
        return 0  # not a text: the tokenizer says so


def size_of_texts(texts: Any) -> int:
    """Estimate the bytes of many texts from a few of them; of an Arrow array, from its buffers."""
    nbytes = getattr(texts, "nbytes", None)
    if isinstance(nbytes, int):
        return nbytes
    if not isinstance(texts, (list, tuple)):
        return 0
    count = len(texts)
    if count <= _SAMPLE:
        return sum(map(size_of_text, texts))
    step = count // _SAMPLE
    return sum(size_of_text(texts[i * step]) for i in range(_SAMPLE)) * count // _SAMPLE


def size_of_ids(ids: Any) -> int:
    """Return about how many bytes of text ids stand for."""
    try:
        return len(ids) * _BYTES_OF_ID
    except TypeError:
        return 0
