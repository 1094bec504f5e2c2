"""Requests with messages: their fields -> what the chat template takes -> ids."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tokenmill._core import read_document
from tokenmill._serve.faults import RefusedRequest
from tokenmill._service.chat_work import SizedChat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._service import Service

_UNTRUSTED = (
    "Chat template is passed with request, but --trust-request-chat-template is not set. "
    "Refused request with untrusted chat template."
)
# Options of calls, which are not for clients: `trusted` would make control tokens of their text.
_RESERVED = {"control", "messages", "model", "template", "timeout", "trusted"}
_SMALL_BODY = 1 << 14  # bytes: reading takes 30 us, or 0.2 ms if all values are short
_BOTH = "Cannot set both `continue_final_message` and `add_generation_prompt` to True."


class Chat:
    """Messages -> ids by the tokenizer's chat template."""

    def __init__(self, service: Service, *, trusts_templates: bool) -> None:
        self._service = service
        self._trusts_templates = trusts_templates

    async def fields(self, body: bytes) -> dict[str, Any]:
        """Return the members of a body; one that is not small is read on a thread."""
        if len(body) <= _SMALL_BODY:
            return _object_of(body)
        return await self._service.run(lambda _stop: _object_of(body), size=len(body))

    async def ids_of_body(self, body: bytes) -> NDArray[np.uint32]:
        """Return the ids of vLLM's TokenizeChatRequest."""
        return await self.ids(await self.fields(body), len(body))

    async def ids(self, fields: dict[str, Any], size: int) -> NDArray[np.uint32]:
        """Return the ids of the messages of a request of `size` bytes that was read already."""
        messages = expect(fields, "messages", list, None)
        if messages is None:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, "body: `messages`: missing", "messages")
        model = expect(fields, "model", str, None) or None
        if fields.get("continue_final_message") and fields.get("add_generation_prompt"):
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, _BOTH)
        options = self._options(fields)
        if "template" in options:  # it has to be compiled, which takes milliseconds
            size = max(size, self._service.limits.inline_bytes + 1)
        chat = SizedChat(messages, options, size)
        if not expect(fields, "add_special_tokens", bool, False):
            return await self._service.encode_chat(chat, model)
        # What the template adds and what the tokenizer adds: the text is encoded like a prompt.
        text = await self._service.write_chat(chat, model)
        return await self._service.encode(text, model=model, add_special_tokens=True)

    def _options(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the options of `Tokenizer.chat`; a request sets no other ones than these."""
        extra = dict(expect(fields, "chat_template_kwargs", dict, None) or {})
        templates = (expect(fields, "chat_template", str, None), extra.pop("chat_template", None))
        template = next((one for one in templates if one is not None), None)
        if template is not None and not self._trusts_templates:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, _UNTRUSTED, "chat_template")
        wrong = sorted(_RESERVED.intersection(extra))
        if wrong:
            message = f"body: `chat_template_kwargs`: {wrong[0]!r} is not a variable of a template"
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, message, "chat_template_kwargs")
        continues = expect(fields, "continue_final_message", bool, False)
        opens = expect(fields, "add_generation_prompt", bool, None)
        given = {
            "tools": expect(fields, "tools", list, None),
            "add_generation_prompt": opens,
            "continue_final_message": continues,
        }
        if template is not None:
            given["template"] = template
        return {**extra, **given}


def _object_of(body: bytes) -> dict[str, Any]:
    """Return the members of a body; a fault is the client's."""
    found, fault = read_document(body)
    if found is None:
        position, what = fault or (0, "")
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, f"body: byte {position}: {what}")
    return found


def expect(fields: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    """Return a member of the given type; the default if it is absent or null."""
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {bool: "true or false", str: "a string", list: "an array", dict: "an object"}
        wanted = names.get(kind, "a whole number")
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, f"body: `{name}`: expected {wanted}", name)
    return value
