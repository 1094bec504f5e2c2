"""The texts of the benchmarks: files cut into documents, short texts, and runs."""

from __future__ import annotations

import base64
import lzma
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENT_BYTES = 3000
SHORT_CHARACTERS = 100
N_SHORT = 1000
SEED = 20_260_701

RUN_KINDS = ("one letter", "spaces", "newlines", "lower-case", "punctuation", "base64")


def read_text(path: Path, limit: int | None) -> bytes:
    """Return the first `limit` bytes of a .txt or .txt.xz file, cut at a line end."""
    if path.suffix == ".xz":
        with lzma.open(path) as stream:
            data = stream.read(-1 if limit is None else limit)
    else:
        with path.open("rb") as stream:
            data = stream.read(-1 if limit is None else limit)
    if limit is not None and len(data) == limit:
        data = data[: data.rfind(b"\n") + 1] or data
    return data


def read_documents(path: Path, limit: int | None) -> list[bytes]:
    """Return a file as documents of about 3 KB, cut at line ends."""
    data = read_text(path, limit)
    documents = []
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin + DOCUMENT_BYTES) + 1 or len(data)
        documents.append(data[begin:end])
        begin = end
    return documents


def short_texts(path: Path) -> list[bytes]:
    """Return a thousand texts of 100 characters."""
    text = " ".join(read_text(path, 1_000_000).decode().split())
    cuts = range(0, SHORT_CHARACTERS * N_SHORT, SHORT_CHARACTERS)
    return [text[begin : begin + SHORT_CHARACTERS].encode() for begin in cuts]


def run_text(kind: str, size: int) -> bytes:
    """Return `size` bytes with no ordinary words in them; the same on every machine."""
    chance = random.Random(SEED)  # noqa: S311  test data, not a secret
    if kind == "one letter":
        return b"a" * size
    if kind == "spaces":
        return b" " * size
    if kind == "newlines":
        return b"\n" * size
    if kind == "lower-case":
        return bytes(chance.choices(range(ord("a"), ord("z") + 1), k=size))
    if kind == "punctuation":
        return bytes(chance.choices(b"!?.,;:-=+*/(){}[]<>#%&@^~|", k=size))
    if kind == "base64":
        return base64.b64encode(chance.randbytes(size * 3 // 4 + 3))[:size]
    raise ValueError(f"run kind: expected one of {RUN_KINDS}, got {kind!r}")


def corpus_files(folder: Path) -> dict[str, Path]:
    """Return the corpora of a folder by name: `zh` for zh.txt or zh.txt.xz."""
    paths = [*folder.glob("*.txt"), *folder.glob("*.txt.xz")]
    return {path.name.split(".")[0]: path for path in sorted(paths)}
