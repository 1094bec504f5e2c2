"""A session on the reference path: the methods of `_core.Session`, each encodes the whole text."""

from __future__ import annotations

from codecs import utf_8_decode
from copy import copy
from typing import TYPE_CHECKING, Any

from tokenmill._errors import Hint, InvalidUtf8, Option, OptionError, TextTooLong

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._core import Stop

_REPLACE = 1
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"


class WholeSession:
    """A look-alike of `_core.Session` over a model of a reference library."""

    reason = "the tokenizer runs through its reference library"

    def __init__(self, model: Any, given: tuple[Any, ...], max_bytes: int | None) -> None:
        self._model = model
        self._given = given  # add_special_tokens, and both modes of the core
        self._errors = "replace" if given[-1] == _REPLACE else "strict"
        self._most = max_bytes
        self._text, self._pending = "", b""
        self._ids: NDArray[np.uint32] = model.encode("", *given)

    def append(self, text: Any, stop: Stop | None = None) -> tuple[int, NDArray[np.uint32]]:
        """Encode the longer text."""
        return self._change(self._text, self._pending, text, stop)

    def replace_tail(
        self, count: int, text: Any, in_characters: bool = True, stop: Stop | None = None
    ) -> tuple[int, NDArray[np.uint32]]:
        """Encode the text with another end."""
        whole: Any = self._text + _UNKNOWN * bool(self._pending)
        if not in_characters:
            whole = self.text_bytes
        if count > len(whole):
            unit = "characters" if in_characters else "bytes"
            raise OptionError(f"replace_tail: expected at most {len(whole)} {unit}, got {count}")
        if count == 0:
            return self.append(text, stop)
        left = whole[: len(whole) - count]
        if in_characters:
            return self._change(left, b"", text, stop)
        start, used = utf_8_decode(left, "strict", False)
        return self._change(start, left[used:], text, stop)

    def fork(self) -> WholeSession:
        """Return a copy; nothing of it is changed in place."""
        return copy(self)

    @property
    def ids(self) -> NDArray[np.uint32]:
        """All ids."""
        ids: NDArray[np.uint32] = self._ids.copy()
        return ids

    @property
    def text_bytes(self) -> bytes:
        """The whole text in UTF-8."""
        return self._text.encode() + self._pending

    @property
    def n_ids(self) -> int:
        """How many ids there are."""
        return len(self._ids)

    @property
    def n_bytes(self) -> int:
        """How many bytes of UTF-8 the text has."""
        return len(self.text_bytes)

    @property
    def n_pending(self) -> int:
        """How many of them are the first bytes of a character."""
        return len(self._pending)

    @property
    def memory(self) -> int:
        """Bytes of text and ids."""
        return self.n_bytes + self._ids.nbytes

    def _change(
        self, text: str, pending: bytes, more: Any, stop: Stop | None
    ) -> tuple[int, NDArray[np.uint32]]:
        added, pending = self._decoded(pending, more)
        text += added
        size = len(text.encode()) + len(pending)
        if self._most is not None and size > self._most:
            raise TextTooLong(
                f"the text would have {size} bytes, at most {self._most} are allowed",
                size=size,
                limit=self._most,
                hint=Hint("pass a larger {}", Option("max_bytes", None)),
            )
        shown = text + _UNKNOWN * bool(pending and self._errors == "replace")
        ids = self._model.encode(shown, *self._given, stop)
        least = min(len(ids), len(self._ids))
        differs = (ids[:least] != self._ids[:least]).nonzero()[0]
        keep = int(differs[0]) if len(differs) else least
        self._text, self._pending, self._ids = text, pending, ids
        return keep, ids[keep:].copy()

    def _decoded(self, pending: bytes, more: Any) -> tuple[str, bytes]:
        """Return whole characters and the bytes of an unfinished one."""
        if isinstance(more, str):
            is_last, data = True, pending + more.encode("utf-8", "surrogatepass")
        else:
            is_last, data = False, pending + bytes(memoryview(more))
        if isinstance(more, str) and not more:
            return "", pending
        try:
            text, used = utf_8_decode(data, self._errors, is_last)
        except UnicodeDecodeError as error:
            raise InvalidUtf8(
                f"expected UTF-8, got byte {data[error.start]}",
                offset=max(error.start - len(pending), 0),
                hint=Hint("pass {}, or decode the bytes yourself", Option("errors", "replace")),
            ) from error
        return text, data[used:]
