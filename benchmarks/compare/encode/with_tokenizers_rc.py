"""Hugging Face tokenizers 1.0, release candidate: needs its own environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _protocol import Library, flat_lists, serve, tokenizer_json
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from _protocol import Flat


def load(folder: Path, _threads: int) -> Tokenizer:
    """Load tokenizer.json."""
    return Tokenizer.from_file(tokenizer_json(folder))


def encode_batch(tokenizer: Any, documents: list[str], _threads: int) -> Any:
    """Encode all documents; threads follow RAYON_NUM_THREADS."""
    return tokenizer.encode_batch(
        documents, add_special_tokens=False, padding=None, truncation=None
    )


def flat(result: Any) -> Flat:
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
