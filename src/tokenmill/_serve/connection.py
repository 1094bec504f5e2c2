"""One HTTP/1.1 connection: bytes -> requests, answers -> bytes, within limits of size and time.

Written on httptools instead of an ASGI server: no dictionaries, events or tasks per request, and
every limit of a hostile client is here. docs/develop/decisions/0013 has the figures. A request that
comes in one piece, as most do, is read by the core in one call; httptools judges all others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import httptools

from tokenmill._core import read_whole_request
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

_NO_REQUEST = HttpRequest()


def _request_of(parts: tuple[bytes, ...]) -> HttpRequest:
    """Return a request that came in one piece."""
    request = HttpRequest()
    request.method, request.path, request.accept = parts[:3]
    request.authorization, request.content_type, request.body = parts[3:]
    return request


class Connection(asyncio.Protocol):
    """Reads requests, hands each to the app, writes the answers in order."""

    __slots__ = (
        "_active", "_app", "_body", "_body_bytes", "_field_bytes", "_head_bytes", "_is_closing",
        "_is_in_line", "_is_stalled", "_most_whole", "_parser", "_reading", "_request", "_room",
        "_task", "_transport", "_waiting",
    )  # fmt: skip

    def __init__(self, room: Connections, app: App) -> None:
        self._room = room
        self._app = app
        self._most_whole = min(app.gate.small_bytes, room.limits.max_body_bytes)
        self._parser: Any = None  # made when it is needed
        self._transport = cast("asyncio.Transport", None)
        self._request = self._active = _NO_REQUEST  # being read, and being answered
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._head_bytes = 0  # that came, of a head that is not complete
        self._field_bytes = 0  # of headers that are
        self._reading = False  # a request has begun and is not complete
        self._waiting: deque[HttpRequest] = deque()  # read while another one is under way
        self._task: asyncio.Task[Any] | None = None
        self._is_in_line = False  # `_active` waits for its turn
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
            whole = read_whole_request(data, self._most_whole)
            if whole is not None and len(data) - len(whole[-1]) <= self._most_head:
                self._take(_request_of(whole))
                return
            self._head_bytes = 0
        self._feed(data)
        if self._reading and not self._is_closing:
            self._head_bytes += 0 if self._body_bytes else len(data)
            if not self._body_bytes:
                self._check_head(self._head_bytes)
            self._room.reading.add(self)

    def _feed(self, data: bytes) -> None:
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, "this server speaks HTTP/1.1 only")
        except httptools.HttpParserError as error:
            cause = error.__context__
            if cause is not None and not isinstance(cause, httptools.HttpParserError):
                raise cause from None  # a bug of ours inside a callback
            self._refuse(HTTPStatus.BAD_REQUEST, f"not a request of HTTP/1.1: {error}")

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
        self._body_bytes = self._field_bytes = 0
        self._reading = True

    def on_url(self, url: bytes) -> None:
        """Keep the path; it may come in several parts."""
        self._request.path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that are read later, and answer the one that asks."""
        self._field_bytes += len(name) + len(value)
        self._check_head(self._field_bytes)
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
        if self._body_bytes > self._app.gate.small_bytes and not self._request.is_slow:
            self._enter_gate(self._body_bytes)  # its header may not have said how long it is
        if self._request.refusal is None:
            self._body.append(body)
        else:
            self._body.clear()

    def on_message_complete(self) -> None:
        """Hand the request over."""
        self._reading = False
        if self._is_closing:
            return
        self._room.reading.remove(self)
        self._room.arriving.remove(self)
        if self._body_bytes > self._app.gate.small_bytes:
            self._enter_gate(self._body_bytes)  # again, if it lost its place
        request = self._request
        request.method = self._parser.get_method()
        request.keep_alive = self._parser.should_keep_alive()
        body = self._body
        request.body = body[0] if len(body) == 1 else b"".join(body)
        self._body = []
        self._take(request)

    def _take(self, request: HttpRequest) -> None:
        """Begin with a request, or keep it until the one before is answered."""
        if self._is_free and not self._waiting:
            self._begin(request)
            return
        self._waiting.append(request)
        if len(self._waiting) == _MAX_PIPELINED:
            self._transport.pause_reading()  # the others wait in the socket

    # for Line

    def take_turn(self, waited: float) -> None:
        """Answer the request that has waited in line, for so many seconds."""
        self._is_in_line = False
        if self._is_closing:
            return
        late = self._app.line.late(waited)
        if late is None:
            self._answer(self._active)
        else:
            self._write(self._active, late)
        self._next()

    # for Connections

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way, or an answer not sent yet."""
        return not self._is_free or self._reading or bool(self._waiting)

    def expire(self) -> None:
        """End a connection that took too long to send a request or to read an answer."""
        if self._reading:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the request took too long to arrive")
        else:
            self.abort()

    def lose_place(self) -> None:
        """Let others go first: this request takes long to arrive."""
        self._request.is_slow = True
        self._release(self._request)

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

    @property
    def _is_free(self) -> bool:
        """Whether a request that is complete can begin."""
        return self._task is None and not self._is_in_line and not self._is_stalled

    def _begin(self, request: HttpRequest) -> None:
        """Answer a request now, let it wait for its turn, or refuse it."""
        self._active = request
        line, size = self._app.line, len(request.body)
        refusal = request.refusal
        if refusal is None:
            if line.has_time():
                self._answer(request)
                return
            if size:  # a probe has no body, and is never refused
                refusal = line.refusal(size)
        if refusal is not None:
            self._write(request, refusal)
        else:
            self._is_in_line = True
            line.add(self, size)

    def _answer(self, request: HttpRequest) -> None:
        result = self._app.handle(request)
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
        while self._waiting and self._is_free and not self._is_closing:
            if len(self._waiting) == _MAX_PIPELINED:
                self._transport.resume_reading()
            self._begin(self._waiting.popleft())

    def _write(self, request: HttpRequest, answer: HttpAnswer) -> None:
        self._release(request)
        if self._is_closing:
            return
        room = self._room
        room.idle.restart(self)
        is_last = room.is_stopping or (not self.is_busy and room.is_one_too_many())
        keep_alive = request.keep_alive and not is_last
        request.body = b""  # a connection that is idle keeps no text
        if answer.ready and keep_alive and request.method != b"HEAD":
            self._transport.write(answer.ready)
            return
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
        if size > self._app.gate.small_bytes:
            self._enter_gate(size)

    def _enter_gate(self, size: int) -> None:
        """Take a place for a large request, or know that it is refused; once."""
        request, gate = self._request, self._app.gate
        if request.held or request.refusal or self._is_closing:
            return
        request.refusal = gate.refusal(size)
        if request.refusal is None:
            request.held = size
            gate.enter(size)
            if self._reading:
                self._room.arriving.add(self)

    def _release(self, request: HttpRequest) -> None:
        """Give the place of a request back."""
        if request.held:
            self._app.gate.leave(request.held)
            request.held = 0

    @property
    def _most_head(self) -> int:
        return self._room.limits.max_header_bytes

    def _check_head(self, size: int) -> None:
        if size > self._most_head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers are too long")

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
