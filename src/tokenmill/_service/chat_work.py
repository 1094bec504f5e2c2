"""One conversation of a request: rendered, timed, encoded."""

from __future__ import annotations

from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._core import Stop
    from tokenmill._service.counters import Counters
    from tokenmill._service.models import ModelState
    from tokenmill._tokenizer.chat import RenderedChat

_OF_ENCODING = ("trusted", "control")


class SizedChat(NamedTuple):
    """Messages, the options of `Tokenizer.chat`, and about how many bytes the messages are."""

    messages: Any
    options: dict[str, Any]
    size: int


class ChatWork:
    """What `chat` and `render_chat` do; `seconds` is what the template took, None before it ran."""

    def __init__(self, state: ModelState, chat: SizedChat) -> None:
        self._tokenizer = state.loaded
        self._chat = chat
        self._is_first = not state.has_templates
        self.seconds: float | None = None

    def size(self, inline_bytes: int) -> int:
        """Return its bytes, at least so many that it is not inline if templates are not read yet.

        To read and compile them, and to import what does it, takes 100 ms.
        """
        return max(self._chat.size, inline_bytes + 1) if self._is_first else self._chat.size

    def encode(self, stop: Stop) -> NDArray[np.uint32]:
        """Return the ids; the options are those of `Tokenizer.chat`."""
        options = dict(self._chat.options)
        how = {name: options.pop(name) for name in _OF_ENCODING if name in options}
        rendered = self._render(stop, options)
        stop.check()
        return self._tokenizer.conversations.encode(rendered, **how)

    def write(self, stop: Stop) -> str:
        """Return the text; the options are those of `Tokenizer.render_chat`."""
        return str.__str__(self._render(stop, self._chat.options).text)

    def _render(self, stop: Stop, options: dict[str, Any]) -> RenderedChat:
        stop.check()
        begin = perf_counter()
        try:
            return self._tokenizer.conversations.rendered(self._chat.messages, **options)
        finally:
            self.seconds = perf_counter() - begin


@contextmanager
def counted_chat(state: ModelState, chat: SizedChat, counters: Counters) -> Iterator[ChatWork]:
    """Give what is to be done for a conversation, and count what its template took."""
    work = ChatWork(state, chat)
    try:
        yield work
    finally:
        state.has_templates = state.has_templates or work.seconds is not None
        counters.rendered(state.tallies["chat"].place, work.seconds)
