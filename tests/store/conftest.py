"""A bucket of its own for each test, on a server that all of them share."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tests.mill.corpus import Corpus, dirty_corpus
from tests.store.fault_proxy import FaultProxy
from tests.store.packed import Place
from tests.store.server import SETTINGS, S3Server

from tokenmill._store import Address, retry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_numbers = itertools.count()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """Start the server once."""
    pytest.importorskip("obstore", reason="needs the extra `stores`")
    pytest.importorskip("moto", reason="needs an S3 server: pip install 'tokenmill[test]'")
    pytest.importorskip("flask_cors", reason="needs an S3 server: pip install 'tokenmill[test]'")
    with S3Server() as server:
        yield server


@pytest.fixture(scope="session")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Make documents, and bad records of every kind."""
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


@pytest.fixture
def bucket(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Address:
    """Make a bucket, and point the usual variables to its server."""
    for name, value in {**SETTINGS, "AWS_ENDPOINT_URL": s3_server.url}.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{next(_numbers)}"
    s3_server.request("PUT", f"/{name}")
    return Address("s3", name)


@pytest.fixture
def place(small_json: Path, tmp_path: Path, bucket: Address) -> Place:
    """Choose where a test packs."""
    return Place(small_json, tmp_path, bucket)


@pytest.fixture
def proxy(
    s3_server: S3Server, bucket: Address, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FaultProxy]:
    """Put a proxy before the server, which breaks what a test asks it to; waits are short."""
    monkeypatch.setattr(retry, "_FIRST_WAIT", 0.01)
    with FaultProxy(s3_server.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy
