"""tiktoken: the reference for rank files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tiktoken
from _patterns import pattern_of
from _protocol import Library, flat_lists, rank_file, serve
from tiktoken.load import load_tiktoken_bpe

if TYPE_CHECKING:
    from pathlib import Path


def load(folder: Path, _threads: int) -> tiktoken.Encoding:
    """Build an encoding from a rank file and its known pattern."""
    path = rank_file(folder)
    return tiktoken.Encoding(
        name=path.stem,
        pat_str=pattern_of(path),
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens={},
    )


def encode_batch(
    tokenizer: tiktoken.Encoding, documents: list[str], threads: int
) -> list[list[int]]:
    """Encode all documents."""
    result: list[list[int]] = tokenizer.encode_ordinary_batch(documents, num_threads=threads)
    return result


if __name__ == "__main__":
    serve(
        Library(
            package="tiktoken",
            load=load,
            encode_batch=encode_batch,
            flat=flat_lists,
            encode=lambda tokenizer, text: tokenizer.encode_ordinary(text),
        )
    )
