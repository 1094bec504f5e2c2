"""A plain web server for one folder: with or without ETags, with or without ranges."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self


@dataclass
class WebServer:
    """A context manager; `url` is the address of the folder."""

    folder: Path
    etag: str = "strong"  # or "weak" or "none"
    has_ranges: bool = True

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.web = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    web: WebServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- its name in the base
        """Write nothing."""

    def do_GET(self) -> None:
        web = self.server.web
        path = web.folder / unquote(self.path).lstrip("/")
        if not path.is_file():
            self.send_response_only(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = path.read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        tag = f"W/{tag}" if web.etag == "weak" else tag
        matches = self.headers.get("If-Match", tag) == tag and "W/" not in self.headers.get(
            "If-Match", ""
        )
        status, headers = 200, {"Last-Modified": self.date_time_string(path.stat().st_mtime)}
        if web.etag != "none":
            headers["ETag"] = tag
        if not matches:
            status, body = 412, b""
        elif web.has_ranges and "Range" in self.headers:
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            begin, end = int(first), min(int(last) + 1, len(body))
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(body)}"
            status, body = 206, body[begin:end]
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815
