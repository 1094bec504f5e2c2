"""A real S3 server on loopback, in a process of its own, that tests start and stop."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_SCRIPT = Path(__file__).with_name("s3_process.py")
SETTINGS = {
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    # Files of this machine's user are none of the tests' business.
    "AWS_CONFIG_FILE": "/nonexistent/config",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent/credentials",
}


class S3Server:
    """A context manager around the process; `url` is its endpoint."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, str(_SCRIPT)],
            stdout=subprocess.PIPE,
            text=True,
            # Uploads of small files in parts, too.
            env={**os.environ, "S3_UPLOAD_PART_MIN_SIZE": "256"},
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.strip().isdecimal(), "the S3 server did not start"
        self.port = int(line)
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def request(self, method: str, path: str, data: bytes | None = None) -> bytes:
        """Make a request without the code under test."""
        headers = {"Content-Type": "application/octet-stream"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            body: bytes = answer.read()
        return body

    def unfinished_uploads(self, bucket: str) -> int:
        """Return how many uploads were begun and neither completed nor aborted."""
        return self.request("GET", f"/{bucket}?uploads").count(b"<Upload>")
