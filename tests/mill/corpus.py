"""Corpora with known content: good documents and bad lines of every kind, in many kinds of file."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LONGEST = 900  # bytes of a document, in corpora with documents that are too long
SLACK = 4_000  # how much longer a line may be, as in tests.mill.tuned

# A line for each reason; the last two are too long as a document and as a line.
BAD_LINES = (
    ("bad_json", b'{"text": broken'),
    ("bad_json", b'{"text": "a"} {"text": "b"}'),
    ("missing_field", b'{"id": 3}'),
    ("null_field", b'{"text": null}'),
    ("wrong_type", b'{"text": ["a"]}'),
    ("wrong_type", b"[1, 2]"),
    ("bad_utf8", b'{"text": "caf\xe9 \xff"}'),
    ("lone_surrogate", b'{"text": "a \\ud83d b"}'),
    ("empty_text", b'{"text": ""}'),
    ("too_long", b'{"text": "' + b"x" * (LONGEST + 1) + b'"}'),
    ("too_long", b'{"id": "' + b"y" * (LONGEST + SLACK) + b'", "text": "short"}'),
)
_WORDS = [
    "hello",
    "world",
    " ",
    "the",
    "\n",
    "caf\u00e9",
    "\u4f60\u597d",
    "</s>",
    "12",
    "\U0001f600",
]


@dataclass
class Corpus:
    """Files, and what is in them, in order: places are (file, line, offset)."""

    files: list[Path] = field(default_factory=list)
    good: list[tuple[str, int, int, str]] = field(default_factory=list)
    bad: list[tuple[str, str, int, int]] = field(default_factory=list)  # the reason first

    @property
    def paths(self) -> list[str]:
        return [str(path) for path in self.files]


def text_of(rng: random.Random, words: int = 60) -> str:
    count = rng.choice([1, 3, 10, words])
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, count))) or "a"


def add_lines(
    corpus: Corpus,
    path: Path,
    rng: random.Random,
    documents: int,
    bad: Iterable[tuple[str, bytes]] = (),
) -> None:
    """Write a file of JSON lines: documents, and the bad lines at random places among them."""
    lines: list[tuple[str | None, bytes]] = []
    for number in range(documents):
        text = text_of(rng)
        record = {"id": number, "text": text, "meta": {"text": "no"}}
        lines.append((None, json.dumps(record, ensure_ascii=number % 2 == 0).encode()))
    for reason, line in bad:
        lines.insert(rng.randint(0, len(lines)), (reason, line))
    body = b""
    for number, (fault, line) in enumerate(lines, 1):
        if fault is None:
            text = json.loads(line)["text"]
            corpus.good.append((str(path), number, len(body), text))
        else:
            corpus.bad.append((fault, str(path), number, len(body)))
        body += line + b"\n"
    write_compressed(path, body)
    corpus.files.append(path)


def write_compressed(path: Path, body: bytes) -> None:
    """Write bytes compressed by the suffix, in several members if the format has them."""
    half = len(body) // 2
    if path.suffix == ".gz":
        body = gzip.compress(body[:half], mtime=0) + gzip.compress(body[half:], mtime=0)
    elif path.suffix == ".zst":
        body = zstd.compress(body[:half]) + zstd.compress(body[half:])
    path.write_bytes(body)


def add_parquet(corpus: Corpus, path: Path, rng: random.Random, documents: int) -> None:
    """Write a Parquet file of many row groups with a null and an empty text in it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts: list[str | None] = [text_of(rng) for _ in range(documents)]
    texts.insert(rng.randint(0, len(texts)), None)
    texts.insert(rng.randint(0, len(texts)), "")
    pq.write_table(pa.table({"text": texts}), path, row_group_size=17)
    for row, text in enumerate(texts, 1):
        if text:
            corpus.good.append((str(path), row, -1, text))
        else:
            reason = "null_field" if text is None else "empty_text"
            corpus.bad.append((reason, str(path), row, -1))
    corpus.files.append(path)


def dirty_corpus(folder: Path, documents: int = 150, seed: int = 7) -> Corpus:
    """JSONL that is divided into ranges, small files that are joined, gz, zst and Parquet."""
    rng = random.Random(seed)  # noqa: S311
    corpus = Corpus()
    add_lines(corpus, folder / "a.jsonl", rng, 3 * documents, BAD_LINES * 3)
    for number in range(3):
        add_lines(corpus, folder / f"b{number}.jsonl", rng, documents // 10, BAD_LINES[number::3])
    add_lines(corpus, folder / "c.jsonl.gz", rng, documents, BAD_LINES)
    add_lines(corpus, folder / "d.jsonl.zst", rng, documents, BAD_LINES)
    add_parquet(corpus, folder / "e.parquet", rng, documents)
    return corpus
