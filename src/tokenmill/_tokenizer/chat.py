"""Conversations -> text and ids: the calls of `Tokenizer` that need a chat template."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenmill._chat.marked import parts_of
from tokenmill._chat.render import ChatOptions, render_chat
from tokenmill._chat.source import ChatSource, read_chat_source
from tokenmill._chat.template import ChatTemplate, compile_template
from tokenmill._checks import one_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._chat.marked import MarkedText
    from tokenmill._model.ready import Ready
    from tokenmill._tokenizer.trusted import TrustedParts

TRUSTED = ("template", "all")
_MOST_KEPT = 64  # templates, as many as stay compiled


class RenderedChat(NamedTuple):
    """The text of a conversation, marked with what the template wrote, and the template."""

    text: MarkedText
    template: ChatTemplate


class Conversations:
    """Chat templates of a tokenizer, read at their first use, and what is made with them."""

    def __init__(self, ready: Ready, origin: object, trusted: TrustedParts) -> None:
        self._ready = ready
        self._origin = origin
        self._trusted = trusted
        self._control: dict[str, tuple[str, ...]] = {}

    @cached_property
    def source(self) -> ChatSource:
        """Templates, and special tokens by the names that templates use."""
        return ChatSource() if self._origin is None else read_chat_source(self._origin)

    @property
    def known_source(self) -> ChatSource | None:
        """The same if it was read already."""
        return self.__dict__.get("source")

    def rendered(
        self,
        messages: Any,
        *,
        tools: Any = None,
        documents: Any = None,
        template: str | Path | None = None,
        add_generation_prompt: bool | None = None,
        continue_final_message: bool | str = False,
        **variables: Any,
    ) -> RenderedChat:
        """Return the text of a conversation; `Tokenizer.chat` explains the options.

        An answer is opened unless a message is continued.
        """
        found = compile_template(self.source.choose(template, has_tools=tools is not None))
        opens = add_generation_prompt
        if opens is None:
            opens = not continue_final_message
        options = ChatOptions(tools, documents, opens, continue_final_message)
        text = render_chat(found, messages, options, self.source.tokens, variables)
        return RenderedChat(text, found)

    def encode(
        self, chat: RenderedChat, trusted: str = "template", control: Sequence[str] = ()
    ) -> NDArray[np.uint32]:
        """Return the ids of a rendered conversation."""
        if one_of("trusted", trusted, TRUSTED) == "all":
            parts = [(str.__str__(chat.text), True)]
        else:
            parts = parts_of(chat.text)
        names = (*self.control_of(chat.template), *control)
        return self._trusted.encode(parts, control=tuple(dict.fromkeys(names)))

    def control_of(self, template: ChatTemplate) -> tuple[str, ...]:
        """Return added tokens that are not special but that the template writes itself.

        White space is left out: templates write it as text.
        """
        found = self._control.get(template.source)
        if found is None:
            if len(self._control) >= _MOST_KEPT:
                self._control.clear()  # callers may pass any number of templates
            meta = self._ready.meta
            found = self._control[template.source] = tuple(
                content
                for content in meta["added_tokens"]
                if content not in meta["special_tokens"]
                and content in template.literals
                and not content.isspace()
            )
        return found
