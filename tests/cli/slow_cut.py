"""Texts, files of them, a fake hub, and the rows that slow and obvious Python cuts from them."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from tokenmill import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    from tokenmill import Tokenizer

TEXTS = [f"hello world {n}, hello again" * (n % 4 + 1) for n in range(40)]
SIZE = 16


def lines(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def write_jsonl(path: Path, texts: list[str]) -> None:
    path.write_bytes(lines(texts))


def slow_rows(
    tokenizer: Tokenizer,
    texts: list[str],
    *,
    eos: str | None = "</s>",
    overlap: int = 0,
    size: int = SIZE,
) -> list[list[int]]:
    """Cut the stream of all documents; the last row may be short."""
    end = [] if eos is None else [tokenizer.special_tokens[eos]]
    ids = [i for text in texts for i in [*tokenizer.encode(text).tolist(), *end]]
    rows, begin = [], 0
    while True:
        rows.append(ids[begin : begin + size])
        if begin + size >= len(ids):
            return rows
        begin += size - overlap


def rows_of(output: Path) -> list[list[int]]:
    files = [output / shard["path"] for shard in Manifest.load(output).shards]
    return [row for file in files for row in pq.read_table(file)["input_ids"].to_pylist()]


def fake_datasets(monkeypatch: pytest.MonkeyPatch, load: Callable[..., Any]) -> None:
    """Put a module `datasets` in place whose `load_dataset` is `load`."""
    module = ModuleType("datasets")
    module.load_dataset = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)


class HubRows:
    """What the mill asks of a dataset that is downloaded: rows by number, and a fingerprint."""

    def __init__(self, texts: list[str], name: str = "text") -> None:
        self._rows = [{"id": str(n), name: text} for n, text in enumerate(texts)]
        self._fingerprint = str(hash(tuple(texts)))
        self.column_names = ["id", name]

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter(self._rows)

    def __getitem__(self, number: int) -> dict[str, str]:
        return self._rows[number]


class HubStream:
    """What the mill asks of a dataset that is streamed: rows, one after the other."""

    features = None

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter([{"text": text} for text in self._texts])
