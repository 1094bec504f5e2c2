"""vLLM's render routes: what its generate endpoint takes, with the prompt already as ids."""

from __future__ import annotations

import json
import uuid
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tokenmill._core import write_answer
from tokenmill._serve.app import Route
from tokenmill._serve.chat import expect
from tokenmill._serve.faults import RefusedRequest
from tokenmill._serve.group import RouteGroup
from tokenmill._serve.messages import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tokenmill._serve.messages import HttpRequest

T = TypeVar("T")
_SMALL_WORK = 1 << 16  # bytes of a request and its answer; more is not for the event loop
# Members of a request that are sampling parameters; those that are given are handed on.
SAMPLING = (
    "n", "presence_penalty", "frequency_penalty", "repetition_penalty", "temperature", "top_p",
    "top_k", "min_p", "seed", "stop", "stop_token_ids", "ignore_eos", "max_tokens", "min_tokens",
    "logprobs", "prompt_logprobs", "skip_special_tokens", "spaces_between_special_tokens",
    "include_stop_str_in_output", "logit_bias", "allowed_token_ids", "bad_words",
    "truncate_prompt_tokens",
)  # fmt: skip


class RenderRoutes(RouteGroup):
    """Handlers of the two render routes."""

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("POST", "/v1/chat/completions/render", self.render_chat),
            Route("POST", "/v1/completions/render", self.render_completion),
        ]

    async def render_chat(self, request: HttpRequest) -> HttpAnswer:
        """Answer with one GenerateRequest."""
        size = len(request.body)
        fields = await self._chat.fields(request.body)
        ids = await self._chat.ids(fields, size)
        work = partial(self._written, fields, ids)
        return HttpAnswer(200, await self._later(size + 4 * len(ids), work))

    def _written(self, fields: dict[str, Any], ids: NDArray[np.uint32]) -> bytes:
        return write_answer(*self._parts("chatcmpl", fields, ids))

    async def render_completion(self, request: HttpRequest) -> HttpAnswer:
        """Answer with a list of GenerateRequests, one for each prompt."""
        size = len(request.body)
        fields = await self._chat.fields(request.body)
        model = expect(fields, "model", str, None) or None
        adds = expect(fields, "add_special_tokens", bool, True)
        prompts = await self._later(size, lambda: _prompts(fields.get("prompt")))
        rows: list[NDArray[np.uint32]] = []
        for prompt in prompts:
            if isinstance(prompt, str):
                rows.append(
                    await self._service.encode(prompt, model=model, add_special_tokens=adds)
                )
            else:
                rows.append(prompt)
        return HttpAnswer(200, await self._later(size, lambda: self._list_of(fields, rows)))

    async def _later(self, size: int, work: Callable[[], T]) -> T:
        """Do work over about `size` bytes; a lot of it on a thread."""
        if size <= _SMALL_WORK:
            return work()
        return await self._service.run(lambda _stop: work(), size=size)

    def _list_of(self, fields: dict[str, Any], rows: list[NDArray[np.uint32]]) -> bytes:
        parts: list[Any] = [b"["]
        for ids in rows:
            parts += [b"," if len(parts) > 1 else b"", *self._parts("cmpl", fields, ids)]
        return write_answer(*parts, b"]")

    def _parts(self, kind: str, fields: dict[str, Any], ids: NDArray[np.uint32]) -> list[Any]:
        """Return the pieces of one GenerateRequest."""
        if len(ids) == 0:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, "No token_ids rendered")
        stream = bool(fields.get("stream"))
        rest = {
            "features": None,
            "sampling_params": self._sampling(fields, len(ids)),
            "model": fields.get("model"),
            "stream": stream,
            "stream_options": fields.get("stream_options") if stream else None,
            "cache_salt": fields.get("cache_salt"),
            "priority": expect(fields, "priority", int, 0),
            "kv_transfer_params": None,
        }
        begin = b'{"request_id":"%s-%s","token_ids":' % (kind.encode(), uuid.uuid4().hex.encode())
        tail = json.dumps(rest, ensure_ascii=True, separators=(",", ":")).encode()
        return [begin, ids, b"," + tail[1:]]

    def _sampling(self, fields: dict[str, Any], length: int) -> dict[str, Any]:
        given = {name: fields[name] for name in SAMPLING if fields.get(name) is not None}
        most = expect(fields, "max_completion_tokens", int, None)
        most = expect(fields, "max_tokens", int, None) if most is None else most
        context = self._max_model_len(fields.get("model"))
        if context > 0:
            if length > context:
                message = (
                    f"Input length ({length}) exceeds model's maximum context length ({context})."
                )
                raise RefusedRequest(HTTPStatus.BAD_REQUEST, message)
            most = context - length if most is None else min(most, context - length)
        if most is not None:
            given["max_tokens"] = most
        return given


def _prompts(value: Any) -> list[str | NDArray[np.uint32]]:
    """Return the prompts of a completion: a text, ids, or an array of either."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value:
        rows = [value] if isinstance(value[0], int) else value
        if all(isinstance(row, str) for row in rows):
            return list(rows)
        if all(isinstance(row, list) and all(map(_is_id, row)) for row in rows):
            return [np.array(row, dtype=np.uint32) for row in rows]
    what = "expected a string, an array of ids, or an array of either"
    raise RefusedRequest(HTTPStatus.BAD_REQUEST, f"body: `prompt`: {what}", "prompt")


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32
