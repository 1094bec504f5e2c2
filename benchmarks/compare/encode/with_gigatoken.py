"""gigatoken: bytes in, an awkward array out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import awkward  # noqa: F401  its first call would import it
import gigatoken
import numpy as np
from _protocol import Library, rank_file, serve

if TYPE_CHECKING:
    from pathlib import Path

    from _protocol import Flat


def load(folder: Path, _threads: int) -> gigatoken.Tokenizer:
    """Load tokenizer.json, or a rank file whose name it knows."""
    if (folder / "tokenizer.json").exists():
        return gigatoken.Tokenizer(folder / "tokenizer.json")
    path = rank_file(folder)
    scheme = "kimi" if path.name == "tiktoken.model" else None
    return gigatoken.Tokenizer.from_tiktoken(path, pretokenizer=scheme)


def encode_batch(tokenizer: gigatoken.Tokenizer, documents: list[bytes], threads: int) -> Any:
    """Encode all documents; one thread never enters the thread pool."""
    return tokenizer.encode_batch(documents, parallel=threads > 1)


def flat(result: Any) -> Flat:
    """Read the buffers of the awkward array."""
    layout = result.layout
    offsets = np.asarray(layout.offsets)
    ids = np.asarray(layout.content.data)[offsets[0] : offsets[-1]]
    return ids, np.diff(offsets)


if __name__ == "__main__":
    serve(
        Library(
            package="gigatoken",
            load=load,
            encode_batch=encode_batch,
            flat=flat,
            encode=lambda tokenizer, text: tokenizer.encode(text),
            takes_bytes=True,
        )
    )
