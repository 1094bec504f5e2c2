"""documents.parquet, read back: the place and the length of every document."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._mirror import here
from tokenmill._write.arrow_arrays import number_array, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True)
class DocumentPlace:
    """Where a document came from, and how many tokens it has."""

    number: int
    file: str
    line: int
    offset: int
    tokens: int


class DocumentTable:
    """The table of an output, read one row group at a time."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa  # heavy
        import pyarrow.parquet as pq

        try:
            self._file = pq.ParquetFile(here(path))
        except (pa.ArrowException, OSError) as error:
            raise CorruptShard(f"not a table of documents: {error}", path=path) from error
        self.path = path
        self._lock = threading.Lock()  # pyarrow does not promise that threads can share a file
        meta = self._file.metadata
        sizes = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
        self._ends = np.cumsum(sizes, dtype=np.int64)

    @property
    def schema(self) -> Any:  # pyarrow's
        """The columns of the table."""
        return self._file.schema_arrow

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def tokens(self, begin: int, end: int) -> NDArray[np.int64]:
        """Return the lengths of some documents."""
        first, last = np.searchsorted(self._ends, (begin, end - 1), side="right")
        parts = [np.empty(0, np.int64)]
        for group in range(int(first), min(int(last) + 1, len(self._ends))):
            base = int(self._ends[group - 1]) if group else 0
            column = numbers_of(self._read_group(group, ["tokens"])["tokens"])
            parts.append(column[max(begin - base, 0) : end - base])
        return np.concatenate(parts)

    def places(self, numbers: NDArray[np.int64]) -> list[DocumentPlace]:
        """Return the places of documents, in the order of the numbers; a group is read once."""
        groups = np.searchsorted(self._ends, numbers, side="right")
        found: list[DocumentPlace | None] = [None] * len(numbers)
        for group in np.unique(groups).tolist():
            base = int(self._ends[group - 1]) if group else 0
            which = np.flatnonzero(groups == group)
            table = self._read_group(group).take(number_array(numbers[which] - base))
            for at, number, row in zip(
                which.tolist(), numbers[which].tolist(), table.to_pylist(), strict=True
            ):
                found[at] = DocumentPlace(number, **row)
        return [place for place in found if place is not None]

    def find(self, file: str, line: int) -> list[int]:
        """Return the numbers of the documents that start in a line of a file."""
        import pyarrow.compute as pc

        numbers: list[int] = []
        for group, end in enumerate(self._ends.tolist()):
            table = self._read_group(group, ["file", "line"])
            names = table["file"].cast("string")
            same = pc.and_(pc.equal(names, file), pc.equal(table["line"], line))
            which = np.flatnonzero(same.to_numpy(zero_copy_only=False))
            numbers += (which + end - len(table)).tolist()
        return numbers

    def groups(self) -> Iterator[Any]:
        """Yield the row groups as tables."""
        for group in range(len(self._ends)):
            yield self._read_group(group)

    def _read_group(self, group: int, columns: list[str] | None = None) -> Any:
        import pyarrow as pa

        try:
            with self._lock:
                return self._file.read_row_group(group, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise CorruptShard(f"not a table of documents: {error}", path=self.path) from error


class SeenDocuments:
    """One bit per document: whether an earlier shard holds it."""

    def __init__(self, documents: int) -> None:
        self._bits = np.zeros(documents // 8 + 1, np.uint8)

    def add(self, documents: NDArray[np.int64]) -> int:
        """Add documents, and return how many are new."""
        unique = np.unique(documents)
        at, bit = unique >> 3, (1 << (unique & 7)).astype(np.uint8)
        new = int(((self._bits[at] & bit) == 0).sum())
        np.bitwise_or.at(self._bits, at, bit)
        return new
