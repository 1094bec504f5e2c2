"""A proxy before an S3 server that breaks requests on purpose, and writes down all of them.

Tests use `FaultProxy` in their process. As a script it is a process of its own that only delays:
``python fault_proxy.py TARGET_PORT DELAY_MS`` prints its port.
"""

from __future__ import annotations

import http.client
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

SLOW_DOWN = (
    b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code>'
    b"<Message>Please reduce your request rate.</Message></Error>"
)
INTERNAL_ERROR = (
    b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>InternalError</Code>'
    b"<Message>We encountered an internal error.</Message></Error>"
)


@dataclass
class Fault:
    """What to do to requests, and to which: `times` of them, after letting `after` pass.

    Kinds: "status" answers with `status` and does not ask the server; "reset" breaks the connection
    before an answer; "lost" lets the server do it and then breaks the connection; "short" sends
    half of the body that it announced; "etag" sends the answer with another ETag.
    """

    kind: str
    times: int = 1
    after: int = 0
    method: str = ""  # any
    part: str = ""  # of the path with its query; any
    status: int = 503
    body: bytes = SLOW_DOWN

    def strikes(self, method: str, path: str) -> bool:
        """Tell whether this request is broken, and count it."""
        if self.method not in ("", method) or self.part not in path:
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.times <= 0:
            return False
        self.times -= 1
        return True


@dataclass(frozen=True)
class Seen:
    """One request as it arrived, and what was done to it ("" if nothing)."""

    method: str
    path: str
    range: str
    fault: str


@dataclass
class FaultProxy:
    """Forwards HTTP requests to a port of loopback; a context manager. `url` is its endpoint."""

    target_port: int
    delay: float = 0.0  # seconds before each request is forwarded
    faults: list[Fault] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take_fault(self, method: str, path: str, byte_range: str) -> Fault | None:
        """Return the fault of a request, if any, and write the request down."""
        with self._lock:
            fault = next((f for f in self.faults if f.strikes(method, path)), None)
            self.seen.append(Seen(method, path, byte_range, fault.kind if fault else ""))
        return fault

    def count(self, method: str, part: str = "") -> int:
        """Return how many requests with this method had `part` in their path."""
        with self._lock:
            return sum(seen.method == method and part in seen.path for seen in self.seen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    proxy: FaultProxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that were cut off on purpose break connections too."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    _upstream: http.client.HTTPConnection | None = None

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def finish(self) -> None:
        if self._upstream is not None:
            self._upstream.close()
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- its name in the base
        """Write nothing."""

    def _forward(self) -> None:
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = proxy.take_fault(self.command, self.path, self.headers.get("Range", ""))
        if proxy.delay:
            time.sleep(proxy.delay)
        if fault is None:
            self._answer(*self._ask(body))
        elif fault.kind == "status":
            self._answer(fault.status, [("Content-Type", "application/xml")], fault.body)
        elif fault.kind == "reset":
            self._break()
        elif fault.kind == "lost":
            self._ask(body)
            self._break()
        elif fault.kind == "short":
            status, headers, answer = self._ask(body)
            self._answer(status, headers, answer, sent=len(answer) // 2)
            self._break()
        else:
            assert fault.kind == "etag", fault.kind
            status, headers, answer = self._ask(body)
            kept = [pair for pair in headers if pair[0].lower() != "etag"]
            self._answer(status, [*kept, ("ETag", '"0123456789abcdef"')], answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _forward  # noqa: N815

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        if self._upstream is None:
            port = self.server.proxy.target_port
            self._upstream = http.client.HTTPConnection("127.0.0.1", port)
        headers = {name: value for name, value in self.headers.items() if name != "Connection"}
        self._upstream.request(self.command, self.path, body, headers)
        response = self._upstream.getresponse()
        return response.status, response.getheaders(), response.read()

    def _answer(
        self, status: int, headers: list[tuple[str, str]], body: bytes, sent: int | None = None
    ) -> None:
        self.send_response_only(status)
        length = str(len(body))
        for name, value in headers:
            if name.lower() == "content-length":
                length = value  # of an answer to HEAD, which has no body
            elif name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        if status != http.HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if sent is None else body[:sent])

    def _break(self) -> None:
        """Break the connection in a way that the client notices at once."""
        self.wfile.flush()
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close()


def main() -> None:
    """Delay the requests of others until the process is ended."""
    port, milliseconds = int(sys.argv[1]), float(sys.argv[2])
    proxy = FaultProxy(port, milliseconds / 1000)
    with proxy:
        print(proxy.url.rpartition(":")[2], flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
