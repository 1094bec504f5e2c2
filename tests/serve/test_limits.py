"""Slow, silent and greedy clients: each is cut off in time, and nobody else notices."""

from __future__ import annotations

import contextlib
import json
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.serve.server import HANGS, read_from, read_reply, serving, starting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serve.server import Server

HEAD = b"POST /tokenize HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n"
IDLE_SECONDS = 1.5
TRIES = 5  # of what a busy machine may be too slow for


@pytest.fixture(scope="module")
def impatient(small_json: Path) -> Iterator[Server]:
    """A server that waits for nobody."""
    seconds = ("--read", "0.3", "--write", "0.5", "--idle", str(IDLE_SECONDS), "--grace", "1")
    with serving(str(small_json), *seconds) as server:
        yield server


def wait_until_idle(server: Server) -> None:
    deadline = time.monotonic() + HANGS
    while server.ask("/stats").json["counters"]["inflight"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_half_a_request_is_answered_with_408(impatient: Server) -> None:
    for half in (b"POST /tok", HEAD, HEAD + b"content-length: 100\r\n\r\n{"):
        with impatient.connect() as made:
            made.sendall(half)
            reply = read_reply(made)
            assert (reply.status, reply.headers["connection"]) == (408, "close")


def test_a_slow_writer_has_one_deadline_for_all_its_bytes(impatient: Server) -> None:
    with impatient.connect() as made:
        begin = time.monotonic()
        with contextlib.suppress(OSError):  # reset or broken pipe, as it comes
            for byte in HEAD * 100:
                made.sendall(bytes([byte]))
                time.sleep(0.01)
        assert time.monotonic() - begin < HANGS / 2


def test_an_idle_connection_ends_and_a_busy_one_stays(impatient: Server) -> None:
    for _ in range(TRIES):
        with impatient.connect() as idle, impatient.connect() as busy:
            file = busy.makefile("rb")
            longest, last = 0.0, time.monotonic()
            end = last + 2 * IDLE_SECONDS
            while time.monotonic() < end:
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
                if longest > IDLE_SECONDS / 2:
                    break  # this process had no CPU: it was idle itself
                busy.sendall(b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n")
                assert read_from(file).status == 200
                time.sleep(0.05)
            else:
                assert idle.recv(10) == b""
                return
    pytest.fail("the machine was too busy to keep a connection busy")


def test_a_client_that_does_not_read_is_cut_off(impatient: Server) -> None:
    body = json.dumps({"prompt": "hello world \u00e9" * 100_000}).encode()
    with impatient.connect() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
        deadline = time.monotonic() + HANGS
        while impatient.ask("/stats").json["server"]["connections"] > 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_more_connections_than_allowed_are_refused_at_once(small_json: Path) -> None:
    with serving(str(small_json), "--max-connections", "20") as server:
        with contextlib.ExitStack() as stack:
            made = [stack.enter_context(server.connect()) for _ in range(21)]
            assert read_reply(made[-1]).status == 503  # and it has not even asked
            made[0].sendall(b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n")
            assert read_reply(made[0]).status == 200
        deadline = time.monotonic() + HANGS
        while server.ask("/livez").status != 200:  # those that ended may still be counted
            assert time.monotonic() < deadline


IDLE = """
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
made = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
print("there", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def idling(server: Server, count: int) -> Iterator[None]:
    """Keep so many connections that say nothing, from another process."""
    idle = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", IDLE, str(server.port), str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert idle.stdout is not None
    assert idle.stdout.readline() == "there\n"
    yield
    idle.communicate("", timeout=HANGS)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ten_thousand_idle_connections_do_not_hurt(small_json: Path, workers: str) -> None:
    """They cost some memory each, and no time; a shell's usual limit of files is not in the way."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = 10_000 if hard == resource.RLIM_INFINITY else min(10_000, hard - 1000)
    with serving(str(small_json), "--workers", workers, soft_files=1024) as server:
        for _ in range(int(workers)):
            server.wait_for("loaded model=")
        before = memory_of(server)
        with idling(server, count):
            with server.connect() as made:
                file = made.makefile("rb")
                begin = time.monotonic()
                for _ in range(200):
                    made.sendall(b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n")
                    assert read_from(file).status == 200
            assert time.monotonic() - begin < HANGS  # a millisecond each is typical
            if workers == "1":
                assert server.ask("/stats").json["server"]["connections"] > count
            assert (memory_of(server) - before) / count < 16_000


def memory_of(server: Server) -> float:
    """Return what all workers have; it is written once a second."""
    time.sleep(1.1)
    lines = server.ask("/metrics").body.decode().splitlines()
    return next(float(x.split()[1]) for x in lines if 'bytes{owner="resident"}' in x)


def test_slow_writers_and_readers_do_not_delay_others(impatient: Server) -> None:
    """A hundred of each: they are cut off, while others are answered all the time."""
    body = json.dumps({"prompt": "hello world \u00e9" * 20_000}).encode()
    whole = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(impatient.connect()) for _ in range(100)]
        readers = [stack.enter_context(impatient.connect()) for _ in range(100)]
        for one in readers:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.sendall(whole)
        for number in range(100):
            for one in writers:
                with contextlib.suppress(OSError):  # cut off already
                    one.sendall(HEAD[number : number + 1])
            assert impatient.ask("/tokenize", {"prompt": "hello"}).status == 200
        deadline = time.monotonic() + HANGS
        while impatient.ask("/stats").json["server"]["connections"] > 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_senders_that_are_slow_do_not_take_the_places_of_others(small_json: Path) -> None:
    """They announce a large body and send a byte of it: after half a second others go first."""
    limits = ("--threads", "1", "--max-queue", "2")
    body = {"prompt": "hello " * 20_000}
    with serving(str(small_json), *limits) as server, contextlib.ExitStack() as stack:
        for _ in range(TRIES):  # a busy machine may take longer than they keep their places
            slow = [stack.enter_context(server.connect()) for _ in range(30)]
            for one in slow:
                one.sendall(HEAD + b"content-length: 200000\r\n\r\n" + b" " * 100_000)
            if server.ask("/tokenize", body).status == 503:
                break
        else:
            pytest.fail("the places were never taken")
        deadline = time.monotonic() + HANGS
        good = 0
        while good < 10:  # and they do not get their places back with the next byte
            for one in slow:
                one.sendall(b" ")
            good = good + 1 if server.ask("/tokenize", body).status == 200 else 0
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert server.ask("/stats").json["server"]["connections"] > 30  # they are still there


def test_bodies_without_a_length_are_counted_as_they_grow(small_json: Path) -> None:
    limits = ("--threads", "1", "--max-queue", "1")
    part = b"%x\r\n%s\r\n" % (50_000, b"a" * 50_000)
    begin = HEAD + b'transfer-encoding: chunked\r\n\r\nb\r\n{"prompt":"\r\n' + part
    with serving(str(small_json), *limits) as server, contextlib.ExitStack() as stack:
        made = [stack.enter_context(server.connect()) for _ in range(20)]
        for one in made:
            one.sendall(begin)
        for one in made:
            one.sendall(b'2\r\n"}\r\n0\r\n\r\n')
        statuses = [read_reply(one).status for one in made]
        assert set(statuses) == {200, 503}


def test_work_that_takes_too_long_is_504_and_ends(small_json: Path) -> None:
    """40 MB in 2 ms: no machine can, and no thread is busy with it afterwards."""
    with serving(str(small_json), "--timeout", "0.002") as server:
        body = {"prompt": "a" * 40_000_000}
        begin = time.monotonic()
        reply = server.ask("/tokenize", body)
        assert reply.status == 504
        assert time.monotonic() - begin < HANGS / 3
        wait_until_idle(server)
        deadline = time.monotonic() + HANGS
        while server.ask("/tokenize", {"prompt": "hello"}).status != 200:  # in 2 ms, too
            assert time.monotonic() < deadline


def test_a_text_over_the_limit_is_413(small_json: Path) -> None:
    with serving(str(small_json), "--max-text-bytes", "100000") as server:
        assert server.ask("/tokenize", {"prompt": "a" * 100_000}).status == 200
        reply = server.ask("/tokenize", {"prompt": "a" * 100_001})
        assert reply.status == 413
        assert "100001" in reply.error["message"]


def test_a_client_that_leaves_stops_its_work(small_json: Path) -> None:
    with serving(str(small_json)) as server:
        body = json.dumps({"prompt": "ab" * 10_000_000}).encode()
        with server.connect() as made:
            made.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)

        wait_until_idle(server)


def test_an_overloaded_server_says_so_at_once(small_json: Path) -> None:
    """One long text is under way and one waits: the third is refused, before its body is sent."""
    limits = ("--threads", "1", "--max-queue", "1")
    with serving(str(small_json), *limits) as server, ThreadPoolExecutor(12) as pool:
        body = json.dumps({"prompt": "ab" * 4_000_000}).encode()
        for _ in range(TRIES):
            replies = list(pool.map(lambda _: server.ask("/tokenize", body), range(12)))
            assert {reply.status for reply in replies} <= {200, 503}
            refused = [reply for reply in replies if reply.status == 503]
            if refused:
                break
        assert 0 < len(refused) < 12
        assert all(int(reply.headers["retry-after"]) >= 1 for reply in refused)
        assert server.ask("/tokenize", {"prompt": "hello"}).status == 200


def test_a_token_is_needed_except_for_probes(small_json: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    with serving(str(small_json), "--token-file", str(file)) as server:
        for path in ("/livez", "/readyz", "/health"):
            assert server.ask(path).status == 200
        for given in ("", "Bearer", "Bearer wrong", "Basic s3cret", "Bearer s3cretx", "s3cret"):
            reply = server.ask("/tokenize", {"prompt": "a"}, authorization=given)
            assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
        for given in ("Bearer s3cret", "bearer s3cret"):
            reply = server.ask("/tokenize", {"prompt": "a"}, authorization=given)
            assert reply.status == 200
        assert server.ask("/stats").status == 401
    with serving(str(small_json), TOKENMILL_TOKEN="other") as server:  # noqa: S106
        assert server.ask("/stats").status == 401
        assert server.ask("/stats", authorization="Bearer other").status == 200


def test_a_unix_socket_is_served_and_removed(small_json: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    for _ in range(2):
        with serving(str(small_json), "--unix-socket", str(path)) as server:
            assert server.ask("/tokenize", {"prompt": "hello"}).status == 200
        assert not path.exists()
    left_over = socket.socket(socket.AF_UNIX)
    left_over.bind(str(path))
    left_over.close()
    with serving(str(small_json), "--unix-socket", str(path)) as server:
        assert server.ask("/livez").status == 200


def test_https_is_served_with_a_certificate(small_json: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate")
    made = subprocess.run(  # noqa: S603
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out",
         str(certificate), "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip("openssl cannot make a certificate")
    context = ssl.create_default_context(cafile=str(certificate))
    files = ("--certificate", str(certificate), "--private-key", str(key))
    with starting(str(small_json), *files) as server:
        with server.connect() as raw:
            wrapped = context.wrap_socket(raw, server_hostname="localhost")
            wrapped.sendall(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert read_reply(wrapped).status in (200, 503)
            wrapped.close()
        with server.connect() as plain:
            plain.settimeout(HANGS)
            plain.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
            assert plain.recv(100)[:4] != b"HTTP"
