"""Messages and a template -> the text of the conversation, marked with what may be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._chat.marked import MarkedText, trusted_text
from tokenmill._chat.messages import (
    cut_at_end,
    documents_of,
    mark_end,
    messages_of,
    plain_data,
    tools_of,
)
from tokenmill._errors import ChatError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill._chat.template import ChatTemplate


@dataclass(frozen=True)
class ChatOptions:
    """What a conversation is rendered with, besides its messages."""

    tools: Any = None
    documents: Any = None
    add_generation_prompt: bool = True
    continue_final_message: bool | str = False


def render_chat(
    template: ChatTemplate,
    messages: Any,
    options: ChatOptions,
    tokens: Mapping[str, str],
    variables: Mapping[str, Any],
) -> MarkedText:
    """Render one conversation; `tokens` are trusted, `variables` of the caller are not."""
    marks = template.inserts
    chat = messages_of(messages, marks=marks)
    final = None
    if options.continue_final_message:
        if options.add_generation_prompt:
            raise ChatError(
                "continue_final_message and add_generation_prompt cannot be combined",
                hint="pass add_generation_prompt=False",
            )
        given = options.continue_final_message
        name = given if isinstance(given, str) else "content"
        final = mark_end(chat, name, template.source)
    seen: dict[str, Any] = {name: trusted_text(text) for name, text in tokens.items()}
    seen |= plain_data(variables, marks=marks)
    seen |= {
        "messages": chat,
        "tools": tools_of(options.tools, marks=marks),
        "documents": documents_of(options.documents, marks=marks),
        "add_generation_prompt": options.add_generation_prompt,
    }
    text = template.render(seen)
    if final is None:
        return text
    cut = cut_at_end(text, final)
    return cut if isinstance(cut, MarkedText) else MarkedText(cut)
