"""Bad requests get a clear answer at once, and the server continues."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.serve.server import HANGS, read_replies, read_reply, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serve.server import Server

HEAD = b"POST /tokenize HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n"


@pytest.fixture(autouse=True)
def _still_serves(server: Server) -> object:
    """Whatever a test sent, the next request is answered."""
    yield
    assert server.ask("/tokenize", {"prompt": "hello"}).status == 200


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"", "expected a JSON object"),
        (b"hello", "byte 0: not valid JSON"),
        (b'"hello"', "expected a JSON object"),
        (b'{"prompt": "a"', "byte 14"),
        (b'{"prompt": "a"} x', "byte 16"),
        (b'{"prompt": 5}', "`prompt`, byte 11: expected a string"),
        (b'{"prompt": null}', "expected a string"),
        (b'{"prompt": {"a": 1}}', "expected a string"),
        (b"{}", "expected `prompt` or `messages`"),
        (b'{"prompt": "a", "model": 3}', "`model`, byte 25: expected a string"),
        (b'{"prompt": "a", "add_special_tokens": 1}', "expected true or false"),
        (b'{"prompt": "\xff"}', "byte 12: expected UTF-8"),
        (b'{"prompt": "\\ud83d"}', "half of a surrogate pair"),
        (b'{"prompt": "\\udc00\\ud800"}', "half of a surrogate pair"),
        (b'{"prompt": "\xed\xa0\x80"}', "expected UTF-8"),
        (b'{"a":' * 3000 + b"1" + b"}" * 3000, "1024 levels"),
        (b"[" * 1_000_000, "1024 levels"),
    ],
)
def test_a_wrong_body_is_400_and_says_where(server: Server, body: bytes, part: str) -> None:
    reply = server.ask("/tokenize", body)
    assert reply.status == 400
    assert reply.error["type"] == "BadRequestError"
    assert part in reply.error["message"]


@pytest.mark.parametrize("tokens", [None, 5, "a", [1.5], [-1], ["a"], [2**32], [[1], 2], [True]])
def test_wrong_tokens_are_400(server: Server, tokens: object) -> None:
    for path in ("/detokenize", "/v1/detokenize"):
        reply = server.ask(path, {"tokens": tokens})
        assert reply.status == 400
        assert reply.error["param"] == "tokens"


def test_an_id_that_no_token_has_is_400(server: Server) -> None:
    reply = server.ask("/detokenize", {"tokens": [1, 10**6]})
    assert reply.status == 400
    assert "1000000" in reply.error["message"]


@pytest.mark.parametrize("prompt", [5, None, [], [1.5], [["a"]], ["a", 1], [[1], "a"], [[-1]]])
def test_wrong_prompts_of_a_completion_are_400(server: Server, prompt: object) -> None:
    reply = server.ask("/v1/completions/render", {"prompt": prompt})
    assert (reply.status, reply.error["param"]) == (400, "prompt")


def test_a_prompt_longer_than_the_context_is_400_when_rendered(server: Server) -> None:
    reply = server.ask("/v1/completions/render", {"prompt": [1] * 5000})
    assert reply.status == 400
    assert "5000" in reply.error["message"]


def test_only_json_is_taken(server: Server) -> None:
    reply = server.ask("/tokenize", {"prompt": "a"}, content_type="text/plain")
    assert reply.status == 400
    assert "application/json" in reply.error["message"]


def test_wrong_methods_and_paths_are_told(server: Server) -> None:
    wrong = server.ask("/tokenize", method="GET")
    assert (wrong.status, wrong.headers["allow"]) == (405, "OPTIONS, POST")
    assert server.ask("/livez", {}).status == 405
    assert server.ask("/nothing").status == 404
    asked = server.ask("/livez", method="OPTIONS")
    assert (asked.status, asked.headers["allow"]) == (200, "GET, HEAD, OPTIONS")


def test_head_has_no_body(server: Server) -> None:
    with server.connect() as made:
        made.sendall(b"HEAD /livez HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n")
        reply = made.makefile("rb").read()
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"content-length: 13" in head
    assert body == b""


@pytest.mark.parametrize(
    "raw",
    [
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"POST /tokenize HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(server: Server, raw: bytes) -> None:
    reply = server.send(raw)
    assert reply.status in (400, 501)
    assert reply.headers["connection"] == "close"


def test_an_upgrade_is_refused(server: Server) -> None:
    raw = b"GET /livez HTTP/1.1\r\nhost: t\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    assert server.send(raw).status in (200, 501)


def test_a_body_that_is_too_long_is_refused_by_its_header(server: Server) -> None:
    begin = time.monotonic()
    reply = server.send(HEAD + b"content-length: 1000000000\r\n\r\n")  # and not a byte of it
    assert (reply.status, reply.headers["connection"]) == (413, "close")
    assert "1000000000" in reply.error["message"]
    assert time.monotonic() - begin < HANGS / 2


def test_a_client_that_asks_first_is_told_before_it_sends(server: Server) -> None:
    with server.connect() as made:
        made.sendall(HEAD + b"expect: 100-continue\r\ncontent-length: 17\r\n\r\n")
        assert made.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        made.sendall(b'{"prompt": "hi" }')
        assert read_reply(made).status == 200


def test_bodies_in_chunks_are_put_together_and_counted(small_json: Path) -> None:
    def chunks(count: int) -> bytes:
        part = b"%x\r\n%s\r\n" % (1000, b"a" * 1000)
        begin = b'b\r\n{"prompt":"\r\n'
        return begin + part * count + b'2\r\n"}\r\n0\r\n\r\n'

    with serving(str(small_json), "--max-body-bytes", "100000") as server:
        head = HEAD + b"transfer-encoding: chunked\r\n\r\n"
        assert server.send(head + chunks(90)).json["count"] == 90_001
        assert server.send(head + chunks(200)).status == 413


def test_headers_that_are_too_long_are_refused(server: Server) -> None:
    with server.connect() as made:
        made.sendall(b"GET /livez HTTP/1.1\r\n")
        made.sendall(b"x: " + b"a" * 200_000)
        assert read_reply(made).status == 431
    fields = b"".join(b"x%d: %s\r\n" % (number, b"a" * 1000) for number in range(80))
    assert server.send(b"GET /livez HTTP/1.1\r\n" + fields + b"\r\n").status == 431  # at once


def test_several_requests_at_once_are_answered_in_order(server: Server) -> None:
    bodies = [json.dumps({"prompt": "hello " * n}).encode() for n in (1, 9000, 2, 9000, 3)]
    with server.connect() as made:
        for body in bodies:
            made.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
        counts = [reply.json["count"] for reply in read_replies(made, len(bodies))]
    assert counts[0] < counts[2] < counts[4] < counts[1] == counts[3]


def test_a_flood_of_requests_waits_in_the_socket_and_is_answered(server: Server) -> None:
    body = json.dumps({"prompt": "hello " * 9000}).encode()
    one = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with server.connect() as made, ThreadPoolExecutor(1) as pool:
        sending = pool.submit(made.sendall, one * 100)
        replies = read_replies(made, 100)
        sending.result()
    assert {reply.status for reply in replies} == {200}


def test_connection_close_and_http_1_0_end_the_connection(server: Server) -> None:
    for raw in (
        b"GET /livez HTTP/1.0\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n",
    ):
        with server.connect() as made:
            made.sendall(raw)
            assert made.makefile("rb").read().startswith(b"HTTP/1.1 200 OK")
