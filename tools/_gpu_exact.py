"""Ids of a device against those of the CPU engine and of the reference library."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from _gpu_texts import Text, cut

from tokenmill._core import TextBuffer
from tokenmill.cuda import FlatTexts

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill import TokenBatch, Tokenizer
    from tokenmill.cuda import GpuTokenizer

# Every cut puts the same text at different positions in tiles (of 8 KiB) and next to different
# documents. 0: whole.
CUTS = (3000, 200, 40_000, 0, 97, 700, 8191, 8192, 8193, 20_000, 300_000, 2_000_000)


@dataclass
class Tally:
    """What was compared."""

    bytes: int = 0
    documents: int = 0
    ids: int = 0
    mismatches: int = 0
    first: str = ""
    fallbacks: Counter[str] = field(default_factory=Counter)

    def compare(self, what: str, found: TokenBatch, expected: TokenBatch, text: Text) -> None:
        """Count one comparison, and remember the first document that differs."""
        self.bytes += text.size
        self.documents += len(expected.offsets) - 1
        self.ids += len(expected.ids)
        equal = np.array_equal(found.ids, expected.ids)
        if equal and np.array_equal(found.offsets, expected.offsets):
            return
        wrong = differing(found, expected)
        self.mismatches += max(len(wrong), 1)
        self.first = self.first or f"{what}: document {wrong[0] if wrong else 'offsets'}"


def differing(found: TokenBatch, expected: TokenBatch) -> list[int]:
    """Return the numbers of the documents whose ids differ."""
    ours, theirs = pairwise(found.offsets.tolist()), pairwise(expected.offsets.tolist())
    return [
        number
        for number, ((a, b), (c, d)) in enumerate(zip(ours, theirs, strict=True))
        if not np.array_equal(found.ids[a:b], expected.ids[c:d])
    ]


def check_corpus(
    tokenizer: Tokenizer, gpu: GpuTokenizer, name: str, data: NDArray[np.uint8], tally: Tally
) -> None:
    """Compare a corpus in every cut, first with cold tables, then with warm ones."""
    for size in CUTS:
        text = cut(name, data, size)
        expected = tokenizer.encode_batch(TextBuffer(text.data, text.offsets))
        for state in ("cold", "warm"):
            if state == "cold":
                gpu.forget_words()
            batch = gpu.encode_batch(FlatTexts(text.data, text.offsets))
            tally.fallbacks.update(batch.fallbacks)
            where = f"{name}, documents of {size} bytes, {state} tables"
            tally.compare(where, batch.to_host(), expected, text)


def check_reference(
    gpu: GpuTokenizer, path: Path, corpora: dict[str, NDArray[np.uint8]], limit: int
) -> dict[str, Any]:
    """Compare the first documents of every corpus with the library that the file is for."""
    if path.name != "tokenizer.json":
        return {"left out": "only tokenizer.json is compared with its library here"}
    import tokenizers  # the check of the CPU engine needs no library

    library = tokenizers.Tokenizer.from_file(str(path))
    compared = wrong = 0
    for name, data in corpora.items():
        documents = cut(name, data, CUTS[0]).documents(limit)
        texts = [document.decode() for document in documents]
        rows = gpu.encode_batch(texts).to_host().tolist()
        for row, expected in zip(
            rows, library.encode_batch_fast(texts, add_special_tokens=False), strict=True
        ):
            compared += 1
            wrong += row != expected.ids
    return {"library": f"tokenizers {tokenizers.__version__}", "documents": compared,
            "mismatches": wrong}  # fmt: skip
