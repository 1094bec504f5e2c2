"""Texts, files of them, and the rows that slow and obvious Python cuts from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from tokenmill import Manifest

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

TEXTS = [f"hello world {n}, hello again" * (n % 4 + 1) for n in range(40)]
SIZE = 16


def lines(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def write_jsonl(path: Path, texts: list[str]) -> None:
    path.write_bytes(lines(texts))


def slow_rows(
    tokenizer: Tokenizer, texts: list[str], *, eos: bool = True, overlap: int = 0
) -> list[list[int]]:
    """Cut the stream of all documents, with the last row as short as it is."""
    end = [tokenizer.special_tokens["</s>"]] if eos else []
    ids = [i for text in texts for i in [*tokenizer.encode(text).tolist(), *end]]
    rows, begin = [], 0
    while True:
        rows.append(ids[begin : begin + SIZE])
        if begin + SIZE >= len(ids):
            return rows
        begin += SIZE - overlap


def rows_of(output: Path) -> list[list[int]]:
    files = [output / shard["path"] for shard in Manifest.load(output).shards]
    return [row for file in files for row in pq.read_table(file)["input_ids"].to_pylist()]
