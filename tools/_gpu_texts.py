"""The input of a GPU check: corpora as one buffer with document offsets."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import _benchmark_path  # noqa: F401 -- before what it leads to
import numpy as np
from _texts import corpus_files, read_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

NEWLINE = 10
DOCUMENT_BYTES = 3000


@dataclass(frozen=True)
class Text:
    """Documents back to back: document i is data[offsets[i]:offsets[i + 1]]."""

    name: str
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Bytes of all documents."""
        return int(self.offsets[-1])

    def documents(self, limit: int) -> list[bytes]:
        """Return the first documents, up to about `limit` bytes."""
        count = int(np.searchsorted(self.offsets, limit))
        ends = self.offsets[: count + 1].tolist()
        return [self.data[a:b].tobytes() for a, b in pairwise(ends)]


def read_corpora(folder: Path, names: list[str] | None) -> dict[str, NDArray[np.uint8]]:
    """Return the bytes of every selected corpus of a folder."""
    files = corpus_files(folder)
    missing = sorted(set(names or ()) - files.keys())
    if missing:
        sys.exit(f"{folder}: no corpus {', '.join(missing)}; hint: there are {', '.join(files)}")
    return {
        name: np.frombuffer(read_text(path, None), np.uint8)
        for name, path in files.items()
        if names is None or name in names
    }


def cut(name: str, data: NDArray[np.uint8], document_bytes: int) -> Text:
    """Cut a text at line ends into documents of at least this many bytes; 0 keeps it whole."""
    offsets = [0]
    if document_bytes:
        ends = np.flatnonzero(data == NEWLINE) + 1
        while offsets[-1] + document_bytes < data.size:
            at = int(np.searchsorted(ends, offsets[-1] + document_bytes))
            offsets.append(int(ends[at]) if at < ends.size else data.size)
    if offsets[-1] < data.size:
        offsets.append(data.size)
    return Text(name, data, np.array(offsets, np.int64))


def repeat(text: Text, total: int) -> Text:
    """Repeat a text until it has `total` bytes."""
    times = max(1, -(-total // text.size))
    begins = np.arange(times, dtype=np.int64)[:, None] * text.size
    offsets = (text.offsets[None, :-1] + begins).reshape(-1)
    data = np.tile(text.data[: text.size], times)
    return Text(text.name, data, np.append(offsets, data.size))
