"""From the number of a document to its place in the inputs, for formats that store it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokenmill._mill.output.tables import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tokenmill._mill.output.parts import Part
    from tokenmill._mill.output.tables import LineBases
    from tokenmill._read import InputFile


class Places:
    """Call it with numbers of documents; it yields (id, path, line) for each."""

    def __init__(self, parts: Sequence[Part], files: Sequence[InputFile], bases: LineBases) -> None:
        self._parts = parts
        self._files = files
        self._bases = bases
        counts = [part.record.documents for part in parts]
        self._ends = np.cumsum(counts, dtype=np.int64)

    def __call__(self, numbers: NDArray[np.int64]) -> Iterable[tuple[str, str, int]]:
        """Yield the places in the order of the numbers."""
        part_of = np.searchsorted(self._ends, numbers, side="right")
        loaded = {int(index): self._load(int(index)) for index in np.unique(part_of)}
        for number, index in zip(numbers.tolist(), part_of.tolist(), strict=True):
            files, lines, first = loaded[index]
            path = shown_path(self._files[int(files[number - first])].path)
            line = int(lines[number - first])
            yield f"{path}:{line}", path, line

    def _load(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
        part = self._parts[index]
        first = int(self._ends[index]) - part.record.documents
        lines = part.column("lines") + self._bases.of(part.record.stream)
        return part.column("files"), lines, first
