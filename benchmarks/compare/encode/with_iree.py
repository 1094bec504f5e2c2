"""iree-tokenizer: str in, flat arrays out; it has one thread only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _protocol import CannotError, Library, rank_file, serve
from iree.tokenizer import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

KNOWN_RANK_FILES = ("cl100k_base", "o200k_base", "r50k_base", "p50k_base")


def load(folder: Path, threads: int) -> Any:
    """Load tokenizer.json, or a rank file whose name it knows."""
    if threads > 1:
        raise CannotError("has no batch call on several threads")
    if (folder / "tokenizer.json").exists():
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    path = rank_file(folder)
    if path.stem not in KNOWN_RANK_FILES:
        raise CannotError(f"knows rank files by name only, not {path.name}")
    return Tokenizer.from_tiktoken(str(path), path.stem)


if __name__ == "__main__":
    serve(
        Library(
            package="iree-tokenizer",
            load=load,
            encode_batch=lambda tokenizer, documents, _: tokenizer.encode_batch_to_array(documents),
            flat=lambda result: result,
            encode=lambda tokenizer, text: tokenizer.encode_to_array(text),
        )
    )
