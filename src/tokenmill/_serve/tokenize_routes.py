"""Ids and counts of texts, texts of ids: vLLM's and SGLang's routes, and `/count`."""

from __future__ import annotations

from http import HTTPStatus
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._core import read_detokenize, read_tokenize, write_answer
from tokenmill._serve.app import Route
from tokenmill._serve.faults import RefusedRequest
from tokenmill._serve.group import RouteGroup
from tokenmill._serve.messages import OCTETS, HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tokenmill import Tokenizer
    from tokenmill._core import DetokenizeFields, TokenizeFields
    from tokenmill._serve.messages import HttpRequest

_LARGE_BODY = 1 << 20  # bytes: reading takes 0.4 ms; above it not on the event loop
_SAMPLE = 1 << 16  # bytes at the beginning in which quotes are counted:
_MOST_QUOTES = 1 << 12  # with more, there are so many prompts that it would take longer
_BYTES_OF_ROW = 256  # that decoding takes as long for as for the row itself
_LARGE_ANSWER = 1 << 17  # ids: writing takes 0.4 ms
_NO_STRINGS = b',"token_strs":null}'


class TokenizeRoutes(RouteGroup):
    """Handlers of texts and ids."""

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("POST", "/tokenize", self.tokenize),
            Route("POST", "/detokenize", self.detokenize),
            Route("POST", "/v1/tokenize", self.tokenize_many),
            Route("POST", "/v1/detokenize", self.detokenize_many),
            Route("POST", "/count", self.count),
        ]

    async def tokenize(self, request: HttpRequest) -> HttpAnswer:
        """Answer vLLM's /tokenize: one prompt, or messages."""
        fields = await self._read(request, read_tokenize)
        if fields.prompts is not None:
            raise _wrong("prompt", "expected a string; /v1/tokenize takes an array of them")
        if fields.prompt is not None:
            ids = await self._encode(fields)
        elif fields.has_messages:
            ids = await self._chat.ids_of_body(request.body)
        else:
            raise _wrong("prompt", "expected `prompt` or `messages`")
        if OCTETS in request.accept:
            return HttpAnswer(200, _raw(ids), OCTETS)
        begin = b'{"count":%d,"max_model_len":%d,"tokens":' % (
            len(ids),
            self._max_model_len(fields.model),
        )
        if not fields.return_token_strs:
            return await self._answer(len(ids), begin, ids, _NO_STRINGS)
        strings = await self._strings(fields.model, ids)
        return await self._answer(len(ids), begin, ids, b',"token_strs":', strings, b"}")

    async def tokenize_many(self, request: HttpRequest) -> HttpAnswer:
        """Answer SGLang's /v1/tokenize: one prompt, or an array of them."""
        fields = await self._read(request, read_tokenize)
        tail = b',"max_model_len":%d}' % self._max_model_len(fields.model)
        if fields.prompts is None:
            if fields.prompt is None:
                raise _wrong("prompt", "expected a string, or an array of strings")
            ids = await self._encode(fields)
            if OCTETS in request.accept:
                return HttpAnswer(200, _raw(ids), OCTETS)
            count = b',"count":%d' % len(ids)
            return await self._answer(len(ids), b'{"tokens":', ids, count, tail)
        if OCTETS in request.accept:
            message = "ids of several prompts come as JSON only"
            raise RefusedRequest(HTTPStatus.NOT_ACCEPTABLE, message)
        batch = await self._service.encode_batch(
            fields.prompts, model=fields.model or None, add_special_tokens=_adds(fields)
        )
        rows = (batch.ids, batch.offsets)
        counts = np.diff(batch.offsets).astype(np.uint32)
        size = len(batch.ids) + 4 * len(counts)
        return await self._answer(size, b'{"tokens":', rows, b',"count":', counts, tail)

    async def count(self, request: HttpRequest) -> HttpAnswer:
        """Answer how many ids a prompt, an array of them, or messages have."""
        fields = await self._read(request, read_tokenize)
        tail = b',"max_model_len":%d}' % self._max_model_len(fields.model)
        model, adds = fields.model or None, _adds(fields)
        if fields.prompts is not None:
            batch = await self._service.encode_batch(
                fields.prompts, model=model, add_special_tokens=adds
            )
            counts = np.diff(batch.offsets).astype(np.uint32)
            return HttpAnswer(200, write_answer(b'{"count":', counts, tail))
        if fields.prompt is not None:
            count = await self._service.count(fields.prompt, model=model, add_special_tokens=adds)
        elif fields.has_messages:
            count = len(await self._chat.ids_of_body(request.body))
        else:
            raise _wrong("prompt", "expected `prompt` or `messages`")
        return HttpAnswer(200, b'{"count":%d' % count + tail)

    async def detokenize(self, request: HttpRequest) -> HttpAnswer:
        """Answer vLLM's /detokenize."""
        fields = await self._read(request, read_detokenize)
        if fields.is_nested:
            raise _wrong("tokens", "expected an array of ids; /v1/detokenize takes several")
        text = await self._service.decode(fields.ids, model=fields.model or None)
        return await self._answer(len(text), b'{"prompt":', text, b"}")

    async def detokenize_many(self, request: HttpRequest) -> HttpAnswer:
        """Answer SGLang's /v1/detokenize: one array of ids, or an array of arrays."""
        fields = await self._read(request, read_detokenize)
        skip = True if fields.skip_special_tokens is None else fields.skip_special_tokens
        if not fields.is_nested:
            text = await self._service.decode(
                fields.ids, model=fields.model or None, skip_special_tokens=skip
            )
            return await self._answer(len(text), b'{"text":', text, b"}")
        tokenizer = self._service.tokenizer(fields.model or None)
        size = fields.ids.nbytes + _BYTES_OF_ROW * len(fields.ends)
        body = await self._service.run(
            lambda _stop: _texts_of(tokenizer, fields, skip=skip), size=size
        )
        return HttpAnswer(200, body)

    async def _read(self, request: HttpRequest, read: Callable[[bytes], Any]) -> Any:
        """Return the fields of a body; a long one is read on a thread."""
        body = request.body
        if len(body) <= _LARGE_BODY and body.count(b'"', 0, _SAMPLE) <= _MOST_QUOTES:
            fields = read(body)
        else:
            fields = await self._service.run(lambda _stop: read(body), size=len(body))
        if fields.fault is not None:
            position, member, what = fields.fault
            place = f"`{member}`, byte {position}" if member else f"byte {position}"
            message = f"body: {place}: {what}"
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, message, member or None)
        return fields

    async def _answer(self, size: int, *parts: Any) -> HttpAnswer:
        """Write an answer of about `size` ids or characters; a long one on a thread."""
        if size <= _LARGE_ANSWER:
            return HttpAnswer(200, write_answer(*parts))
        body = await self._service.run(lambda _stop: write_answer(*parts), size=4 * size)
        return HttpAnswer(200, body)

    async def _encode(self, fields: TokenizeFields) -> NDArray[np.uint32]:
        return await self._service.encode(
            fields.prompt, model=fields.model or None, add_special_tokens=_adds(fields)
        )

    async def _strings(self, model: str | None, ids: NDArray[np.uint32]) -> list[str]:
        tokenizer = self._service.tokenizer(model or None)
        spell = tokenizer.id_to_token
        return await self._service.run(
            lambda _stop: [spell(token) for token in ids.tolist()], size=64 * len(ids)
        )


def _texts_of(tokenizer: Tokenizer, fields: DetokenizeFields, *, skip: bool) -> bytes:
    """Return the answer with the text of each row."""
    ids, ends = fields.ids, fields.ends.tolist()
    rows = [ids[begin:end] for begin, end in pairwise(ends)]
    texts = tokenizer.decode_batch(rows, skip_special_tokens=skip)
    return write_answer(b'{"text":', texts, b"}")


def _wrong(member: str, what: str) -> RefusedRequest:
    return RefusedRequest(HTTPStatus.BAD_REQUEST, f"body: `{member}`: {what}", member)


def _adds(fields: TokenizeFields) -> bool:
    return True if fields.add_special_tokens is None else fields.add_special_tokens


def _raw(ids: NDArray[np.uint32]) -> bytes:
    return ids.astype("<u4", copy=False).tobytes()
