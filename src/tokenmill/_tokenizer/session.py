"""`Session`: a text that grows, and its ids after every change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tokenmill._calls.options import modes, stop_of
from tokenmill._checks import one_of, whole_number
from tokenmill._core import Model as CoreModel
from tokenmill._core import Session as CoreSession

if TYPE_CHECKING:
    from mmap import mmap

    import numpy as np
    from numpy.typing import NDArray

    Text = str | bytes | bytearray | memoryview | mmap

_UNITS = ("char", "byte")


class Appended(NamedTuple):
    """What a change did to the ids: the first `keep` stay, `ids` follow them."""

    keep: int
    ids: NDArray[np.uint32]


class Session:
    """A text that grows. Make one with `Tokenizer.session`.

    After every call, the ids are those that `Tokenizer.encode` has for the whole text. Only the end
    of the text is encoded again, from the last place that no later text can change; `incremental`
    says whether the tokenizer has such places. Calls from several threads wait for each other.

    Bytes may end inside a character: its first bytes wait for the others, and have no ids until
    then (one U+FFFD with `errors="replace"`). A call that raises changes nothing.
    """

    __slots__ = ("_core",)

    def __init__(self, core: Any) -> None:
        self._core = core

    def append(self, text: Text, *, timeout: float | None = None) -> Appended:
        """Add text at the end; return how many ids stay and the new ones after them."""
        if timeout is None:
            return Appended(*self._core.append(text))
        return Appended(*self._core.append(text, stop_of(timeout)))

    def replace_tail(
        self,
        n: int,
        text: Text,
        *,
        unit: Literal["char", "byte"] = "char",
        timeout: float | None = None,
    ) -> Appended:
        """Drop the last `n` characters, or bytes of UTF-8, and append `text`."""
        count = whole_number("n", n, least=0)
        in_characters = one_of("unit", unit, _UNITS) == "char"
        return Appended(*self._core.replace_tail(count, text, in_characters, stop_of(timeout)))

    def fork(self) -> Session:
        """Return a session with the same text; both continue alone and share what is fixed."""
        return Session(self._core.fork())

    @property
    def ids(self) -> NDArray[np.uint32]:
        """All ids, in a new array."""
        ids: NDArray[np.uint32] = self._core.ids
        return ids

    @property
    def text_bytes(self) -> bytes:
        """The whole text in UTF-8, with an unfinished character at its end."""
        return bytes(self._core.text_bytes)

    @property
    def n_ids(self) -> int:
        """How many ids there are."""
        return int(self._core.n_ids)

    @property
    def n_bytes(self) -> int:
        """How many bytes of UTF-8 the text has; `max_bytes` bounds them."""
        return int(self._core.n_bytes)

    @property
    def n_pending(self) -> int:
        """How many of them are the first bytes of a character that is not finished."""
        return int(self._core.n_pending)

    @property
    def memory(self) -> int:
        """Bytes that text and ids take; forks share most of them."""
        return int(self._core.memory)

    @property
    def incremental(self) -> bool:
        """Whether an append takes time for the end of the text only; else see `reason`."""
        return not self.reason

    @property
    def reason(self) -> str:
        """Why every append encodes the whole text; empty if none does."""
        return str(self._core.reason)

    def __repr__(self) -> str:
        return f"Session({self.n_bytes} bytes, {self.n_ids} ids)"


def open_session(
    model: Any,  # the core's model, or that of a reference library
    add_special_tokens: bool,
    special_in_text: str,
    errors: str,
    max_bytes: int | None,
) -> Session:
    """Return an empty session."""
    given = add_special_tokens, *modes(special_in_text, errors)
    most = None if max_bytes is None else whole_number("max_bytes", max_bytes)
    if isinstance(model, CoreModel):
        return Session(CoreSession(model, *given, most))
    from tokenmill._tokenizer.whole_text import WholeSession  # the reference path is rare

    return Session(WholeSession(model, given, most))
