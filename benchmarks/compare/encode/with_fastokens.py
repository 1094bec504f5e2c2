"""fastokens: str in, flat buffers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _patterns import pattern_of
from _protocol import Library, flat_buffers, rank_file, serve
from fastokens import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path


def load(folder: Path, _threads: int) -> Tokenizer:
    """Load tokenizer.json, or a rank file with its pattern."""
    if (folder / "tokenizer.json").exists():
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    path = rank_file(folder)
    return Tokenizer.from_tiktoken(str(path), pattern=pattern_of(path))


def encode_batch(tokenizer: Tokenizer, documents: list[str], _threads: int) -> tuple[bytes, bytes]:
    """Encode all documents; threads follow RAYON_NUM_THREADS."""
    result: tuple[bytes, bytes] = tokenizer.encode_batch_flat(documents)
    return result


if __name__ == "__main__":
    serve(
        Library(
            package="fastokens",
            load=load,
            encode_batch=encode_batch,
            flat=flat_buffers,
            encode=lambda tokenizer, text: tokenizer.encode(text).ids,
        )
    )
