"""A request that comes in one piece is read as httptools reads it, or left to httptools."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tokenmill import _core

httptools = pytest.importorskip("httptools")

LINE = b"POST /tokenize HTTP/1.1\r\n"
MOST = 1000
HEADERS = (
    b"host: t", b"Host:t", b"content-type: application/json", b"Content-Type:  text/plain  ",
    b"accept: */*", b"ACCEPT: application/octet-stream", b"authorization: Bearer x",
    b"user-agent: a (b; c)", b"connection: keep-alive", b"Connection: Keep-Alive",
    b"x-other: 1, 2", b"accept-encoding: gzip", b"x:", b"content-length: 3",
)  # fmt: skip
UNUSUAL = (
    b"connection: close", b"connection: upgrade", b"transfer-encoding: chunked", b"bad header",
    b"expect: 100-continue", b"content-length: +3", b"content-length: 3, 3",
    b" folded: 1", b"a b: 1", b"\xff: 1", b"x: \xff", b"x: \x01", b"x: a\rb", b": 1",
    b"upgrade: h2c",
)  # fmt: skip


class Seen:
    """What httptools finds in a piece of bytes."""

    def __init__(self) -> None:
        self.url = self.body = b""
        self.headers: dict[bytes, bytes] = {}
        self.begun = self.done = 0

    def on_message_begin(self) -> None:
        self.begun += 1

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.done += 1


def seen(data: bytes) -> tuple[Seen, Any] | None:
    found = Seen()
    parser = httptools.HttpRequestParser(found)
    try:
        parser.feed_data(data)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    return found, parser


def check(data: bytes) -> bool:
    """Compare with httptools what the core took for whole; return whether it did."""
    whole = _core.read_whole_request(data, MOST)
    if whole is None:
        return False
    expected = seen(data)
    assert expected is not None, data
    found, parser = expected
    assert (found.begun, found.done) == (1, 1), data
    assert parser.should_keep_alive()
    names = (b"accept", b"authorization", b"content-type")
    headers = tuple(found.headers.get(name, b"").strip() for name in names)
    assert whole == (parser.get_method(), found.url, *headers, found.body), data
    return True


def test_usual_requests_are_read() -> None:
    assert _core.read_whole_request(LINE + b"Content-Length: 2\r\n\r\n{}", MOST) is not None
    assert _core.read_whole_request(b"GET /livez?a=1 HTTP/1.1\r\nhost: t\r\n\r\n", MOST) == (
        b"GET", b"/livez?a=1", b"", b"", b"", b"",
    )  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        b"",
        LINE,
        LINE + b"content-length: 3\r\n\r\n{}",  # half
        LINE + b"content-length: 1\r\n\r\n{}",  # and more
        LINE + b"content-length: 2\r\ncontent-length: 2\r\n\r\n{}",
        LINE + b"content-length: 1001\r\n\r\n" + b"a" * 1001,  # too long for this way
        LINE + b"x: " + b"a" * 5000 + b"\r\n\r\n",
        b"POST /tokenize HTTP/1.0\r\n\r\n",
        b"post /tokenize HTTP/1.1\r\n\r\n",
        b"HEAD /livez HTTP/1.1\r\n\r\n",
        b"POST  /tokenize HTTP/1.1\r\n\r\n",
        b"POST /tokenize HTTP/1.1\n\n",
        b"POST http://a/ HTTP/1.1\r\n\r\n",
        *(LINE + header + b"\r\n\r\nabc" for header in UNUSUAL),
    ],
)
def test_all_else_is_left_to_the_full_parser(data: bytes) -> None:
    assert _core.read_whole_request(data, MOST) is None


def test_random_requests_are_read_as_httptools_reads_them() -> None:
    choose = random.Random(7)  # noqa: S311
    taken = 0
    for _ in range(20_000):
        lines = choose.sample(HEADERS, choose.randrange(7))
        if choose.random() < 0.2:
            lines.insert(choose.randrange(len(lines) + 1), choose.choice(UNUSUAL))
        body = choose.choice([b"", b"abc", b"abcd"])
        made = bytearray(LINE + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body)
        if choose.random() < 0.5:
            made[choose.randrange(len(made))] = choose.choice(b" \r\n:a\x00\xff1C")
        taken += check(bytes(made))
    assert taken > 1000
