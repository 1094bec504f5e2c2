"""A folder as a bucket: an S3 server that is quick enough to measure clients with.

It answers HEAD, GET with ranges and conditions, and lists; bodies are sent by the system. Each
request waits first. ``python folder_server.py FOLDER DELAY_MS`` prints its port.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_DATE = "Wed, 18 Nov 2026 00:00:00 GMT"


class FolderServer:
    """Serves `/bucket/key` from the file `key` of one folder, whatever the bucket."""

    def __init__(self, folder: Path, delay: float) -> None:
        self._folder = folder
        self._delay = delay

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) is not None:
                await asyncio.sleep(self._delay)
                await self._answer(head.decode("latin-1"), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines if line)
        }
        url = urlsplit(target)
        key = unquote(url.path).strip("/").partition("/")[2]
        if not key:
            body = self._listing(parse_qs(url.query).get("prefix", [""])[0])
            _send(writer, 200, {"Content-Type": "application/xml"}, len(body))
            writer.write(body)
            return
        path = self._folder / key
        if not path.is_file():
            _send(writer, 404, {}, 0)
            return
        size, tag = path.stat().st_size, _tag(path)
        common = {"ETag": tag, "Last-Modified": _DATE, "Accept-Ranges": "bytes"}
        if headers.get("if-match", tag) != tag:
            _send(writer, 412, common, 0)
            return
        begin, end, status = 0, size, 200
        if "range" in headers:
            first_byte, _, last = headers["range"].removeprefix("bytes=").partition("-")
            begin, end = int(first_byte), min(int(last) + 1 if last else size, size)
            status, common["Content-Range"] = 206, f"bytes {begin}-{end - 1}/{size}"
        _send(writer, status, common, end - begin)
        if method == "GET" and end > begin:
            with path.open("rb") as file:
                await asyncio.get_running_loop().sendfile(
                    writer.transport, file, begin, end - begin, fallback=False
                )

    def _listing(self, prefix: str) -> bytes:
        files = sorted(path for path in self._folder.rglob("*") if path.is_file())
        names = [(path.relative_to(self._folder).as_posix(), path) for path in files]
        entries = "".join(
            f"<Contents><Key>{escape(name)}</Key>"
            "<LastModified>2026-11-18T00:00:00.000Z</LastModified>"
            f"<ETag>{escape(_tag(path))}</ETag><Size>{path.stat().st_size}</Size></Contents>"
            for name, path in names
            if name.startswith(prefix)
        )
        whole = f"<IsTruncated>false</IsTruncated>{entries}"
        return f"<ListBucketResult>{whole}</ListBucketResult>".encode()


def _tag(path: Path) -> str:
    status = path.stat()
    return f'"{status.st_size:x}-{status.st_mtime_ns:x}"'


def _send(writer: asyncio.StreamWriter, status: int, headers: dict[str, str], size: int) -> None:
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {size}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())


async def main() -> None:
    """Serve until the process is ended."""
    server = FolderServer(Path(sys.argv[1]), float(sys.argv[2]) / 1000)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
