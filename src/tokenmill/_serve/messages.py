"""A request as it was read, an answer before it is written."""

from __future__ import annotations

from http import HTTPStatus
from typing import NamedTuple

JSON = b"application/json"
OCTETS = b"application/octet-stream"
_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


class HttpRequest:
    """One HTTP request; headers that nobody here reads are not kept."""

    __slots__ = (
        "accept", "authorization", "body", "content_type", "held", "is_slow", "keep_alive",
        "method", "path", "refusal",
    )  # fmt: skip

    def __init__(self) -> None:
        self.method = b""
        self.path = b""
        self.body = b""
        self.accept = b""
        self.authorization = b""
        self.content_type = b""
        self.keep_alive = True
        self.held = 0  # bytes that it was admitted with; 0 for a small one
        self.is_slow = False  # it took so long to arrive that it lost its place
        self.refusal: HttpAnswer | None = None  # known before the body was read


class HttpAnswer(NamedTuple):
    """A status, a body and its kind; `headers` are whole lines."""

    status: int
    body: bytes
    kind: bytes = JSON
    headers: bytes = b""
    ready: bytes = b""  # all of it for a connection that stays, if it was written before


def written_before(answer: HttpAnswer) -> HttpAnswer:
    """Return an answer that is given many times with its bytes."""
    return answer._replace(ready=head_of(answer, keep_alive=True) + answer.body)


def head_of(answer: HttpAnswer, *, keep_alive: bool) -> bytes:
    """Return everything before the body."""
    # One format call: joining separate lines takes twice as long.
    return b"%scontent-type: %s\r\ncontent-length: %d\r\n%s%s\r\n" % (
        _LINES[answer.status],
        answer.kind,
        len(answer.body),
        answer.headers,
        b"" if keep_alive else b"connection: close\r\n",
    )
