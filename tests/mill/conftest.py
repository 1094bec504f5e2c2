"""What the tests of the mill share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.mill.corpus import Corpus, dirty_corpus
from tests.mill.tuned import shrink

from tokenmill import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def tokenizer(small_json: Path) -> Tokenizer:
    return Tokenizer.load(small_json)


@pytest.fixture(scope="session")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sizes; and no waiting for the disk, which changes no byte."""
    shrink(monkeypatch.setattr)
    monkeypatch.setattr(os, "fsync", lambda _: None)
