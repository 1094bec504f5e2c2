"""A folder of files, and the command `pretokenize` with a small tokenizer."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from tests.cli.slow_cut import SIZE, TEXTS, lines, write_jsonl

from tokenmill._cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A folder of two files."""
    folder = tmp_path / "raw"
    folder.mkdir()
    write_jsonl(folder / "a.jsonl", TEXTS[:25])
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(TEXTS[25:])))
    return folder


@pytest.fixture
def run(small_json: Path, tmp_path: Path) -> Callable[..., int]:
    """The command with the small tokenizer, rows of SIZE, and the output `out`."""

    def call(*arguments: str | Path) -> int:
        always = ("-t", small_json, "--chunk-size", SIZE, "--output", tmp_path / "out")
        return main(["pretokenize", *map(str, (*always, *arguments))])

    return call
