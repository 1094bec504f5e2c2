"""tokenmill: bytes in, a TokenBatch out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from _patterns import pattern_of
from _protocol import Library, rank_file, serve

import tokenmill

if TYPE_CHECKING:
    from pathlib import Path

    from _protocol import Flat


def load(folder: Path, _threads: int) -> tokenmill.Tokenizer:
    """Load tokenizer.json, or a rank file with its pattern."""
    if (folder / "tokenizer.json").exists():
        return tokenmill.Tokenizer.load(folder / "tokenizer.json")
    path = rank_file(folder)
    return tokenmill.Tokenizer.load(path, pattern=pattern_of(path))


def encode_batch(
    tokenizer: tokenmill.Tokenizer, documents: list[bytes], threads: int
) -> tokenmill.TokenBatch:
    """Encode all documents."""
    return tokenizer.encode_batch(documents, threads=threads)


def flat(result: tokenmill.TokenBatch) -> Flat:
    """Return ids and lengths."""
    return result.ids, np.diff(result.offsets)


if __name__ == "__main__":
    serve(
        Library(
            package="tokenmill",
            load=load,
            encode_batch=encode_batch,
            flat=flat,
            encode=lambda tokenizer, text: tokenizer.encode(text),
            takes_bytes=True,
        )
    )
