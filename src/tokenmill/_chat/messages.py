"""Messages, tools and documents of a caller -> plain data that a template may see."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from tokenmill._chat.marked import MarkedText, trusted_text
from tokenmill._errors import ChatError

Message = dict[str, Any]

# Roles that templates put between the halves of a control token, as in '<|' + role + '|>'. They are
# words of the interface, not text of a user; every other role is text and trusted nowhere.
ROLES = frozenset((
    "assistant", "developer", "environment", "function", "ipython", "model", "observation",
    "system", "tool", "user",
))  # fmt: skip
# Names for what an assistant thought; the first is the one that templates read.
_REASONING = ("reasoning_content", "thinking", "reasoning")
_TAG = "CONTINUE_FINAL_MESSAGE_TAG "


def plain_data(value: Any) -> Any:
    """Rebuild a value of plain JSON types; texts become `MarkedText` that is trusted nowhere.

    Methods of richer objects would be open to the template, whose sandbox does not know them. Those
    become a text that names their type: templates only look whether images and the like are there.
    """
    if value is None or isinstance(value, str | int | float):
        return _plain_scalar(value)
    if isinstance(value, Mapping):
        return {plain_data(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [plain_data(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return _plain_object(value)


def _plain_scalar(value: Any) -> Any:
    if value is None or type(value) in (int, float, bool):
        return value
    if isinstance(value, str):
        return MarkedText(str.__str__(value))
    kind = int if isinstance(value, int) else float
    return getattr(kind, f"__{kind.__name__}__")(value)


def _plain_object(value: Any) -> Any:
    if isinstance(value, np.generic):
        return plain_data(value.item())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain_data(getattr(value, name)) for name in names}
    if callable(getattr(value, "model_dump", None)):  # pydantic
        return plain_data(value.model_dump())
    return MarkedText(f"<{type(value).__name__}>")


def messages_of(messages: Any) -> list[Message]:
    """Check and copy the messages of one conversation."""
    found = plain_data(getattr(messages, "messages", messages))
    if not isinstance(found, list | tuple) or not found:
        raise ChatError(
            f"messages: expected a list of one message or more, got {found!r:.80}",
            hint='e.g. [{"role": "user", "content": "Hi"}]',
        )
    for number, message in enumerate(found):
        if not isinstance(message, dict):
            raise ChatError(f"message {number}: expected a dict, got {message!r:.80}")
    return [_prepared(message) for message in found]


def tools_of(tools: Any) -> Any:
    """Check and copy the descriptions of tools."""
    for tool in tools if isinstance(tools, Sequence) else ():
        if callable(tool):
            raise ChatError(
                f"tools: expected JSON schemas, got the function {tool!r:.60}",
                hint="transformers.utils.get_json_schema makes one of a function",
            )
    return plain_data(tools)


def documents_of(documents: Any) -> Any:
    """Check and copy documents."""
    found = plain_data(documents)
    for number, document in enumerate(found or ()):
        if not isinstance(document, dict):
            raise ChatError(f"document {number}: expected a dict, got {document!r:.80}")
    return found


def mark_end(messages: list[Message], field: str, template: str) -> str:
    """Write a tag after the final message, to find its end again; return that message."""
    final = messages[-1].get(field)
    if final is None:
        raise ChatError(f"continue_final_message: the final message has no {field!r}")
    fields = [field]
    if field in _REASONING:  # copied under several names: the template reads one of them
        fields = [name for name in _REASONING if messages[-1].get(name) == final]
    if not any(name in template for name in fields):
        raise ChatError(f"continue_final_message: the template does not read {field!r}")
    if isinstance(final, list | tuple):
        for block in reversed(final):
            if "text" in block:
                text = cast("str", block["text"])
                block["text"] = text + _TAG
                return text
        raise ChatError("continue_final_message: the final message has no text to continue")
    for name in fields:
        messages[-1][name] += _TAG
    return cast("str", final)


def cut_at_end(rendered: str, final: str) -> str:
    """Remove the tag of `mark_end` and all that follows."""
    tag = _TAG.strip()
    if final.strip() not in rendered or tag not in rendered:
        raise ChatError(
            "continue_final_message: the final message is not in the text of the template",
            hint="the template leaves out parts of it",
        )
    at = rendered.rindex(tag)
    if rendered[at : at + len(_TAG)] == _TAG:
        return rendered[:at]
    return rendered[:at].rstrip()  # the template has trimmed the message


def _prepared(message: Message) -> Message:
    """Copy what was thought to the names that templates read, and trust a role that is known."""
    thought = next((message[key] for key in _REASONING if message.get(key) is not None), None)
    if thought is not None:
        message = {"thinking": thought, **message, "reasoning_content": thought}
    role = message.get("role")
    if isinstance(role, str) and role in ROLES:
        message["role"] = trusted_text(role)
    return message
