"""Runs whose cause of slowness is real, and what they recorded."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from tokenmill import pack
from tokenmill._record import file as record_file
from tokenmill._record.file import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokenmill._record.facts import RunFacts

_MEMORY = Path("/dev/shm")  # noqa: S108 -- a disk that is not busy with other things
_WORDS = (
    *("the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be"),
    *("by", "on", "not", "he", "his", "but", "at", "are", "this", "have", "from", "which", "or"),
    *("had", "they", "you", "her", "what", "there", "we", "one", "all", "were", "when", "can"),
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory if there is one: the disk of a busy machine has causes of its own."""
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with TemporaryDirectory(dir=place) as name:
        yield Path(name)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Callable[..., RunFacts]]:
    """Pack with options, and return what the run recorded."""
    monkeypatch.setenv(VARIABLE, str(folder / "stats"))

    def call(inputs: Any, **options: Any) -> RunFacts:
        output = folder / f"out{len(list(folder.iterdir()))}"
        pack(inputs, output=output, **{"context_length": 128, **options})
        return record_file._runs[-1]

    yield call
    forget()


def forget() -> None:
    """Keep nothing for the end of this process."""
    record_file._runs.clear()
    record_file._calls.clear()


def prose(size: int, seed: int = 0) -> str:
    """Return text of common words."""
    choose = random.Random(seed)  # noqa: S311 -- test data
    text = " ".join(choose.choices(_WORDS, k=size // 4))
    return text[:size]


def noise(size: int, seed: int = 0) -> str:
    """Return text of random letters: no word comes twice."""
    choose = random.Random(seed)  # noqa: S311 -- test data
    letters = choose.choices("abcdefghijklmnopqrstuvwxyz", k=size)
    for at in range(0, size, 9):
        letters[at] = " "
    return "".join(letters)


def jsonl(texts: list[str]) -> bytes:
    """Return a line for each text."""
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
