"""A live page about a run: one HTML file and the state as JSON, on a small server of its own."""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from typing import TYPE_CHECKING, Any

from tokenmill._errors import OptionError
from tokenmill._page import LIVE_POLICY, load_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from typing_extensions import Self

    Follow = Callable[[Callable[[], bool]], Iterator[dict[str, Any]]]

_HISTORY_SECONDS = 600
_EVERY_SECONDS = 1.0
_IDLE_SECONDS = 10.0


class LivePage:
    """Serves the states that `follow` yields, until the block ends."""

    def __init__(self, output: str, host: str, port: int, follow: Follow) -> None:
        self._output = output
        self._follow = follow
        self._facts: dict[str, Any] = {}
        self._history: deque[dict[str, float]] = deque(maxlen=_HISTORY_SECONDS)
        self._closed = threading.Event()
        self._ready = threading.Event()
        self._page = load_page("tokenmill._mill.watch", "live.html").encode()
        self._server = _open(host, port, self._answer)
        threads = (self._server.serve_forever, self._watch)
        self._threads = [threading.Thread(target=job, daemon=True) for job in threads]

    @property
    def url(self) -> str:
        """Where the page is."""
        host, port = self._server.server_address[:2]
        name = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{name}:{port}/"

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _watch(self) -> None:
        for facts in self._follow(lambda: self._closed.wait(_EVERY_SECONDS)):
            self._facts = facts
            run = facts.get("run")
            if run is not None:
                self._history.append(_sample(run))
            self._ready.set()

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if path == "/":
            return 200, "text/html; charset=utf-8", self._page
        if path != "/status.json":
            return 404, "text/plain", b"there is / and /status.json\n"
        self._ready.wait(_IDLE_SECONDS)
        value = {
            "output": self._output,
            "facts": self._facts,
            "history": list(self._history),
            "now": time.monotonic(),
        }
        return 200, "application/json", json.dumps(value).encode()


def _sample(run: dict[str, Any]) -> dict[str, float]:
    rates = run["rates"]
    return {
        "at": time.monotonic(),
        "bytes": rates["bytes_per_second"],
        "tokens": rates["tokens_per_second"],
        "packed": rates["packed_tokens_per_second"],
        "resident": run["memory"].get("resident", run["memory"]["peak"]),
    }


def _open(
    host: str, port: int, answer: Callable[[str], tuple[int, str, bytes]]
) -> ThreadingHTTPServer:
    class Server(ThreadingHTTPServer):
        address_family = AF_INET6 if ":" in host else AF_INET
        daemon_threads = True

    class Handler(_PageHandler):
        reply = staticmethod(answer)
        only_local = _is_loopback(host)

    try:
        return Server((host, port), Handler)
    except OSError as error:
        raise OptionError(
            f"cannot listen on {host} port {port}: {error.strerror or error}",
            hint="choose another port; 0 takes one that is free",
        ) from error


class _PageHandler(BaseHTTPRequestHandler):
    """Answers GET; writes no log."""

    reply: Callable[[str], tuple[int, str, bytes]]
    only_local = True
    timeout = _IDLE_SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer one request."""
        if self.only_local and not _is_loopback(_name_of(self.headers.get("Host", ""))):
            # Another site could have given this machine a name of its own.
            status, kind, body = 403, "text/plain", b"open this page by its address\n"
        else:
            status, kind, body = type(self).reply(self.path.partition("?")[0])
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", LIVE_POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent: stderr is for the run."""


def _name_of(host: str) -> str:
    """Return the name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] or host


def _is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
