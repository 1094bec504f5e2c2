"""Reads what a library wrote: documents, tokens, a hash of all ids, and what differs."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

CHUNK_IDS = 1 << 20


@dataclass(frozen=True)
class Answer:
    """Counts and a hash of all ids of an output, in document order."""

    documents: int
    tokens: int
    ids: str

    def against(self, right: Answer) -> str:
        """Return `equal`, or how this differs from the correct answer."""
        if self == right:
            return "equal"
        parts = [
            f"{ours - theirs:+,} {name}"
            for name, ours, theirs in (
                ("documents", self.documents, right.documents),
                ("tokens", self.tokens, right.tokens),
            )
            if ours != theirs
        ]
        return "DIFFERS: " + (", ".join(parts) or "other ids, same counts")


def read_answer(files: Sequence[Path], dtype: str, eos_id: int) -> Answer:
    """Return the answer in flat files, read in small pieces, so that this process stays small."""
    digest = hashlib.sha256()
    documents = tokens = 0
    for ids in read_ids(files, dtype):
        digest.update(ids.data)
        documents += int(np.count_nonzero(ids == eos_id))
        tokens += len(ids)
    return Answer(documents, tokens, digest.hexdigest()[:16])


def read_ids(
    files: Iterable[Path], dtype: str
) -> Iterator[np.ndarray[tuple[int], np.dtype[np.generic]]]:
    """Yield the ids of flat files in pieces."""
    for path in files:
        with path.open("rb") as file:
            while len(ids := np.fromfile(file, dtype, CHUNK_IDS)):
                yield ids


def count_documents(files: Sequence[Path], dtype: str, eos_id: int) -> Counter[bytes]:
    """Return how often every document is there, by its ids; for small outputs."""
    pieces = list(read_ids(files, dtype))
    if not pieces:
        return Counter()
    ids = np.concatenate(pieces)
    ends = np.flatnonzero(ids == eos_id) + 1
    return Counter(piece.tobytes() for piece in np.split(ids, ends) if len(piece))
