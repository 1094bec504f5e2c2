"""Hugging Face tokenizers, stable release: the reference for tokenizer.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _protocol import Library, flat_lists, serve, tokenizer_json
from tokenizers import Encoding, Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from _protocol import Flat


def load(folder: Path, _threads: int) -> Tokenizer:
    """Load tokenizer.json without truncation and padding."""
    tokenizer = Tokenizer.from_file(tokenizer_json(folder))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encode_batch(tokenizer: Tokenizer, documents: list[str], _threads: int) -> list[Encoding]:
    """Encode all documents without offsets; threads follow RAYON_NUM_THREADS."""
    result: list[Encoding] = tokenizer.encode_batch_fast(documents, add_special_tokens=False)
    return result


def flat(result: list[Encoding]) -> Flat:
    """Return ids and lengths."""
    return flat_lists([encoding.ids for encoding in result])


if __name__ == "__main__":
    serve(
        Library(
            package="tokenizers",
            load=load,
            encode_batch=encode_batch,
            flat=flat,
            encode=lambda tokenizer, text: tokenizer.encode(text, add_special_tokens=False).ids,
        )
    )
