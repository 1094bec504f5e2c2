"""Messages, tools and documents of a caller -> plain data that a template may see."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tokenmill._chat.marked import MarkedText, trusted_text
from tokenmill._errors import ChatError

Message = dict[str, Any]

# Roles that templates put between the halves of a control token, as in '<|' + role + '|>'. They are
# words of the interface, not text of a user; every other role is text and trusted nowhere.
ROLES = (
    "assistant", "developer", "environment", "function", "ipython", "model", "observation",
    "system", "tool", "user",
)  # fmt: skip
# Names for what an assistant thought; the first is the one that templates read.
_REASONING = ("reasoning_content", "thinking", "reasoning")
_THOUGHTS = frozenset(_REASONING)
_TRUSTED_ROLES = {role: trusted_text(role) for role in ROLES}
_TAG = "CONTINUE_FINAL_MESSAGE_TAG "
# How a value of a type, or of one that is made of it, becomes one of the type itself.
_SCALARS: dict[type, Callable[[Any], Any]] = {
    str: str.__str__, int: int.__int__, float: float.__float__,
}  # fmt: skip


def plain_data(value: Any, *, marks: bool = True) -> Any:
    """Rebuild a value of plain JSON types; texts become `MarkedText` that is trusted nowhere.

    Names of members stay plain, which are trusted nowhere either; without `marks` all texts do,
    for a template that puts nothing into them.

    Methods of richer objects would be open to the template, whose sandbox does not know them. Those
    become a text that names their type: templates only look whether images and the like are there.
    """
    try:
        plain = _plain(value)
        return _mark(plain) if marks else plain
    except RecursionError:
        raise ChatError("messages, tools or variables are nested too deeply") from None


def _plain(value: Any) -> Any:
    """Rebuild a value; its texts are plain."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if isinstance(value, Mapping):
        return {
            key if type(key) is str else _plain(key):
            # Nearly all values are texts: a call for each would take most of the time.
            item if type(item) is str else _plain(item)
            for key, item in value.items()
        }  # fmt: skip
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    for base, exact in _SCALARS.items():
        if isinstance(value, base):
            return exact(value)
    return _plain_object(value)


def _mark(value: Any) -> Any:
    """Make the texts of a value that was rebuilt ones that know they are trusted nowhere."""
    if type(value) is str:
        return MarkedText(value)
    if type(value) is dict:
        return {
            key if type(key) is str else _mark(key):
            MarkedText(item) if type(item) is str else _mark(item)
            for key, item in value.items()
        }  # fmt: skip
    if type(value) is list or type(value) is tuple:
        return type(value)([_mark(item) for item in value])
    return value


def _plain_object(value: Any) -> Any:
    if isinstance(value, np.generic):
        return _plain(value.item())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name)) for name in names}
    if callable(getattr(value, "model_dump", None)):  # pydantic
        return _plain(value.model_dump())
    return f"<{type(value).__name__}>"


def messages_of(messages: Any, *, marks: bool) -> list[Message]:
    """Check and copy the messages of one conversation."""
    found = plain_data(getattr(messages, "messages", messages), marks=marks)
    if not isinstance(found, (list, tuple)) or not found:
        raise ChatError(
            f"messages: expected a list of one message or more, got {found!r:.80}",
            hint='e.g. [{"role": "user", "content": "Hi"}]',
        )
    for number, message in enumerate(found):
        if not isinstance(message, dict):
            raise ChatError(
                f"message {number}: expected one with a role and a content, got {message!r:.80}"
            )
    return [_prepared(message) for message in found]


def tools_of(tools: Any, *, marks: bool) -> Any:
    """Check and copy the descriptions of tools."""
    for tool in tools if isinstance(tools, Sequence) else ():
        if callable(tool):
            raise ChatError(
                f"tools: expected JSON schemas, got the function {tool!r:.60}",
                hint="transformers.utils.get_json_schema makes one of a function",
            )
    return plain_data(tools, marks=marks)


def documents_of(documents: Any, *, marks: bool) -> Any:
    """Check and copy documents."""
    found = plain_data(documents, marks=marks)
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
    thought = None
    if not _THOUGHTS.isdisjoint(message):
        thought = next((message[key] for key in _REASONING if message.get(key) is not None), None)
    if thought is not None:
        message = {"thinking": thought, **message, "reasoning_content": thought}
    role = message.get("role")
    if isinstance(role, str) and role in _TRUSTED_ROLES:
        message["role"] = _TRUSTED_ROLES[role]
    return message
