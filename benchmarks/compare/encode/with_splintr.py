"""splintr: str in, flat buffers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import splintr
from _protocol import Library, flat_buffers, serve, tokenizer_json

if TYPE_CHECKING:
    from pathlib import Path


def load(folder: Path, _threads: int) -> splintr.AnyTokenizer:
    """Load tokenizer.json."""
    return splintr.from_json(tokenizer_json(folder))


def encode_batch(
    tokenizer: splintr.AnyTokenizer, documents: list[str], _threads: int
) -> tuple[bytes, bytes]:
    """Encode all documents; threads follow RAYON_NUM_THREADS."""
    result: tuple[bytes, bytes] = tokenizer.encode_batch_flat(documents)
    return result


if __name__ == "__main__":
    serve(
        Library(
            package="splintr-rs",
            load=load,
            encode_batch=encode_batch,
            flat=flat_buffers,
            encode=lambda tokenizer, text: tokenizer.encode(text),
        )
    )
