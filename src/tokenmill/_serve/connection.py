"""One HTTP/1.1 connection: bytes -> requests, answers -> bytes, within limits of size and time.

Written on httptools instead of an ASGI server: no dictionaries, events or tasks per request, and
every limit of a hostile client is here. docs/develop/decisions/0013 has the figures.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import httptools

from tokenmill._serve.eager import Waiting
from tokenmill._serve.faults import error_answer
from tokenmill._serve.messages import HttpAnswer, HttpRequest, head_of

if TYPE_CHECKING:
    from tokenmill._serve.app import App
    from tokenmill._serve.connections import Connections

_JOIN_BYTES = 1 << 14  # a shorter body is copied after its head: one system call, one packet
_MAX_PIPELINED = 16
_LINGER_SECONDS = 0.5  # between the answer to a refused request and the end of the connection
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Headers that somebody reads, and where they go.
_HEADERS = {
    b"accept": "accept",
    b"authorization": "authorization",
    b"content-type": "content_type",
}


class Connection(asyncio.Protocol):
    """Reads requests, hands each to the app, writes the answers in order."""

    __slots__ = (
        "_active", "_app", "_body", "_body_bytes", "_head_bytes", "_is_closing", "_is_stalled",
        "_parser", "_reading", "_request", "_room", "_task", "_transport", "_waiting",
    )  # fmt: skip

    def __init__(self, room: Connections, app: App) -> None:
        self._room = room
        self._app = app
        self._parser = httptools.HttpRequestParser(self)
        self._transport = cast("asyncio.Transport", None)
        self._request = HttpRequest()
        self._active = self._request  # the one that is being answered
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._head_bytes = 0
        self._reading = False  # a request has begun and is not complete
        self._waiting: deque[HttpRequest] = deque()  # read while another one is under way
        self._task: asyncio.Task[Any] | None = None
        self._is_stalled = False  # the client takes no bytes
        self._is_closing = False

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take part in the limits of the server, or refuse at once."""
        self._transport = cast("asyncio.Transport", transport)
        if not self._room.enter(self):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "the server has no room for connections")

    def data_received(self, data: bytes) -> None:
        """Feed the parser; what it finds arrives in the callbacks below."""
        if self._is_closing:
            return
        if not self._reading:
            self._head_bytes = 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, "this server speaks HTTP/1.1 only")
        except httptools.HttpParserError as error:
            cause = error.__context__
            if cause is not None and not isinstance(cause, httptools.HttpParserError):
                raise cause from None  # a bug of ours inside a callback
            self._refuse(HTTPStatus.BAD_REQUEST, f"not a request of HTTP/1.1: {error}")
        if self._reading and not self._is_closing:
            self._head_bytes += 0 if self._body_bytes else len(data)
            if self._head_bytes > self._room.limits.max_header_bytes and not self._body_bytes:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers are too long")
            self._room.reading.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        """Stop the work that nobody waits for any more."""
        self._is_closing = True
        self._room.leave(self)
        for request in (self._request, self._active, *self._waiting):
            self._release(request)
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Start the clock: the client has stopped reading its answer."""
        self._is_stalled = True
        self._room.writing.add(self)

    def resume_writing(self) -> None:
        """Continue with what was read meanwhile."""
        self._is_stalled = False
        self._room.writing.remove(self)
        self._next()

    # httptools

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._request = HttpRequest()
        self._body = []
        self._body_bytes = 0
        self._reading = True

    def on_url(self, url: bytes) -> None:
        """Keep the path; it may come in several parts."""
        self._request.path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that are read later, and answer the one that asks."""
        key = name.lower()
        kept = _HEADERS.get(key)
        if kept is not None:
            setattr(self._request, kept, value)
        elif key == b"content-length":
            self._announce(int(value) if value.isdigit() else 0)
        elif key == b"expect" and value.lower() == b"100-continue" and not self._is_closing:
            self._transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body; that of a refused request only passes by."""
        if self._is_closing:
            return
        self._body_bytes += len(body)
        self._check_size(self._body_bytes)
        if self._request.refusal is None:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """Hand the request over, or keep it until the one before is answered."""
        self._reading = False
        if self._is_closing:
            return
        self._room.reading.remove(self)
        request = self._request
        request.method = self._parser.get_method()
        request.keep_alive = self._parser.should_keep_alive()
        body = self._body
        request.body = body[0] if len(body) == 1 else b"".join(body)
        self._body = []
        if self._task is None and not self._is_stalled and not self._waiting:
            self._begin(request)
            return
        self._waiting.append(request)
        if len(self._waiting) == _MAX_PIPELINED:
            self._transport.pause_reading()  # the others wait in the socket

    # for Connections

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way, or an answer not sent yet."""
        return self._task is not None or self._reading or bool(self._waiting) or self._is_stalled

    def expire(self) -> None:
        """End a connection that took too long to send a request or to read an answer."""
        if self._reading:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the request took too long to arrive")
        else:
            self.abort()

    def close(self) -> None:
        """End the connection when it is next idle."""
        if not self.is_busy:
            self._is_closing = True
            self._transport.close()

    def abort(self) -> None:
        """End the connection now."""
        self._is_closing = True
        self._transport.abort()

    # inside

    def _begin(self, request: HttpRequest) -> None:
        self._active = request
        result = request.refusal or self._app.handle(request)
        if isinstance(result, Waiting):
            self._task = asyncio.ensure_future(self._finish(request, result))
        else:
            self._write(request, result)

    async def _finish(self, request: HttpRequest, waiting: Waiting) -> None:
        answer = await waiting.rest
        self._task = None
        self._write(request, answer)
        self._next()

    def _next(self) -> None:
        while self._waiting and self._task is None and not (self._is_stalled or self._is_closing):
            if len(self._waiting) == _MAX_PIPELINED:
                self._transport.resume_reading()
            self._begin(self._waiting.popleft())

    def _write(self, request: HttpRequest, answer: HttpAnswer) -> None:
        self._release(request)
        if self._is_closing:
            return
        room = self._room
        room.idle.restart(self)
        keep_alive = request.keep_alive and not room.is_stopping
        head = head_of(answer, keep_alive=keep_alive)
        if request.method == b"HEAD":
            self._transport.write(head)
        elif len(answer.body) <= _JOIN_BYTES:
            self._transport.write(head + answer.body)
        else:
            self._transport.writelines((head, answer.body))
        if not keep_alive:
            self._is_closing = True
            self._transport.close()

    def _announce(self, size: int) -> None:
        """Look at the length that a request says it has, before its body is there."""
        self._check_size(size)
        request = self._request
        request.refusal = self._app.gate.refusal(size)
        if request.refusal is None and self._app.gate.is_large(size) and not self._is_closing:
            self._release(request)
            request.held = size
            self._app.gate.enter(size)

    def _release(self, request: HttpRequest) -> None:
        """Give the place of a request back."""
        if request.held:
            self._app.gate.leave(request.held)
            request.held = 0

    def _check_size(self, size: int) -> None:
        if size > self._room.limits.max_body_bytes:
            limit = self._room.limits.max_body_bytes
            message = f"the body has {size} bytes or more; this server takes {limit}"
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer a request that is not read to its end. The rest of it stays in the socket."""
        if self._is_closing:
            return
        self._is_closing = True
        self._room.refused(status)
        answer = error_answer(status, message)
        self._transport.pause_reading()
        self._transport.write(head_of(answer, keep_alive=False) + answer.body)
        # At once, the rest of the request would reset the connection before its answer is read.
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._transport.abort)
