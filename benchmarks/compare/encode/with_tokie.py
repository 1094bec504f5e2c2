"""tokie: str in, a list of encodings out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tokie
from _protocol import Library, flat_lists, serve, tokenizer_json

if TYPE_CHECKING:
    from pathlib import Path

    from _protocol import Flat


def load(folder: Path, _threads: int) -> tokie.Tokenizer:
    """Load tokenizer.json."""
    return tokie.Tokenizer.from_json(tokenizer_json(folder))


def encode_batch(
    tokenizer: tokie.Tokenizer, documents: list[str], _threads: int
) -> list[tokie.Encoding]:
    """Encode all documents; threads follow RAYON_NUM_THREADS."""
    result: list[tokie.Encoding] = tokenizer.encode_batch(documents, add_special_tokens=False)
    return result


def flat(result: list[tokie.Encoding]) -> Flat:
    """Return ids and lengths."""
    return flat_lists([encoding.ids for encoding in result])


if __name__ == "__main__":
    serve(
        Library(
            package="tokie",
            load=load,
            encode_batch=encode_batch,
            flat=flat,
            encode=lambda tokenizer, text: tokenizer.encode(text, add_special_tokens=False).ids,
        )
    )
