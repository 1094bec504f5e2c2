"""Conversations -> text and ids: the calls of `Tokenizer` that need a chat template."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokenmill._chat.marked import parts_of
from tokenmill._chat.render import ChatOptions, render_chat
from tokenmill._chat.source import ChatSource, read_chat_source
from tokenmill._chat.template import ChatTemplate, compile_template
from tokenmill._checks import one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._chat.marked import MarkedText
    from tokenmill._model.ready import Ready
    from tokenmill._tokenizer.trusted import TrustedParts

TRUSTED = ("template", "all")


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

    @staticmethod
    def options(
        tools: Any, documents: Any, add_generation_prompt: bool | None, continues: bool | str
    ) -> ChatOptions:
        """Return the options of a call; an answer is opened unless the last message goes on."""
        opens = not continues if add_generation_prompt is None else add_generation_prompt
        return ChatOptions(tools, documents, opens, continues)

    def template(self, given: str | Path | None, *, has_tools: bool) -> ChatTemplate:
        """Compile the template of a call."""
        return compile_template(self.source.choose(given, has_tools=has_tools))

    def render(
        self,
        messages: Any,
        options: ChatOptions,
        template: ChatTemplate,
        variables: Mapping[str, Any],
    ) -> MarkedText:
        """Return the text of a conversation, marked with what the template wrote."""
        return render_chat(template, messages, options, self.source.tokens, variables)

    def encode(
        self, text: MarkedText, template: ChatTemplate, trusted: str, control: Sequence[str]
    ) -> NDArray[np.uint32]:
        """Return the ids of a rendered conversation."""
        if one_of("trusted", trusted, TRUSTED) == "all":
            parts = [(str.__str__(text), True)]
        else:
            parts = parts_of(text)
        names = (*self.control_of(template), *control)
        return self._trusted.encode(parts, control=tuple(dict.fromkeys(names)))

    def control_of(self, template: ChatTemplate) -> tuple[str, ...]:
        """Return added tokens that are not special but that the template writes itself.

        White space is left out: templates write it as text.
        """
        found = self._control.get(template.source)
        if found is None:
            meta = self._ready.meta
            found = self._control[template.source] = tuple(
                content
                for content in meta["added_tokens"]
                if content not in meta["special_tokens"]
                and content in template.literals
                and not content.isspace()
            )
        return found
