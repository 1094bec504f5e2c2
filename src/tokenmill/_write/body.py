"""Formats whose ids are in one run, with a header or small files in addition to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._write.format import CHUNK, Extras, Format, stem
from tokenmill._write.writer import ShardWriter, cast, filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._pack.rows import Rows, ShardShape


@dataclass(frozen=True)
class IdRange:
    """Where in a file its ids are."""

    dtype: np.dtype[Any]
    offset: int
    count: int


class BodyFormat(Format):
    """A header, ids, and side files that follow from the shape."""

    suffixes: ClassVar[tuple[str, ...]] = (".bin",)

    def file_names(self, shard: int, split: str = "") -> tuple[str, ...]:
        """Return the shard's name with each suffix."""
        return tuple(stem(shard, split) + suffix for suffix in self.suffixes)

    def stored_dtype(self, dtype: str) -> np.dtype[Any]:
        """Return the number type in the file for ids of a type."""
        return np.dtype("<u2" if dtype == "uint16" else "<u4")

    def id_bytes(self, dtype: str) -> int:
        """Return how many bytes an id takes."""
        return self.stored_dtype(dtype).itemsize

    def head(self, shape: ShardShape) -> bytes:
        """Return the bytes before the first id."""
        del shape
        return b""

    def side_files(self, shape: ShardShape, extras: Extras) -> Iterable[Iterable[Any]]:
        """Return the buffers of each side file."""
        del shape, extras
        return ()

    def writer_of(self, shape: ShardShape) -> type[ShardWriter]:
        """Return the writer of such a shard."""
        del shape
        return BodyWriter

    def locate(self, paths: list[Path], dtype: str) -> IdRange:
        """Find the ids in a shard's files; raises CorruptShard if the files disagree."""
        stored = self.stored_dtype(dtype)
        size = file_size(paths[0])
        if size % stored.itemsize:
            raise CorruptShard(f"expected whole {stored.name} ids, got {size} bytes", path=paths[0])
        return IdRange(stored, 0, size // stored.itemsize)

    def map_ids(
        self, folder: Path, number: int, *, dtype: str, split: str = ""
    ) -> NDArray[Any] | None:
        """Map the ids into memory."""
        paths = [folder / name for name in self.file_names(number, split)]
        return map_ids(paths[0], self.locate(paths, dtype))

    def read_shard(
        self, folder: Path, number: int, *, dtype: str, split: str = ""
    ) -> Iterator[NDArray[Any]]:
        """Yield the ids, some at a time."""
        ids = self.map_ids(folder, number, dtype=dtype, split=split)
        if ids is not None:
            for begin in range(0, len(ids), CHUNK):
                yield from cast(ids[begin : begin + CHUNK], np.dtype(dtype))


class BodyWriter(ShardWriter):
    """Writes the header, the rows, and at the end the side files."""

    def __init__(
        self,
        form: BodyFormat,
        folder: Path,
        number: int,
        shape: ShardShape,
        split: str,
        *,
        extras: Extras,
    ) -> None:
        super().__init__(form, folder, number, shape, split, extras=extras)
        self._body = form
        self._dtype = form.stored_dtype(shape.dtype)
        self._emit(form.head(shape))

    def _append(self, rows: Rows, lengths: NDArray[np.int64]) -> None:
        length = self._format.stored_length(self._shape)
        if length is not None:
            self.padding += length * len(lengths) - len(rows.ids)
        for run in filled(rows.ids, lengths, length, self._shape.pad_id):
            for part in cast(run, self._dtype):
                self._emit(part)

    def _stores_ids_as_they_are(self) -> bool:
        length = self._format.stored_length(self._shape)
        return (
            type(self) is BodyWriter  # others look at every row
            and self._dtype == np.dtype(self._shape.dtype)
            and (length is None or bool((self._shape.row_lengths == length).all()))
        )

    def _close(self) -> None:
        self._add_files(self._body.side_files(self._shape, self._extras))

    def _emit(self, data: Any) -> None:  # anything with a contiguous buffer
        self._file.write(data)


def map_ids(path: Path, run: IdRange, *, whole: bool = True) -> NDArray[Any]:
    """Map ids into memory; raises CorruptShard if the file does not end with them.

    With `whole` false, other data may follow.
    """
    expected = run.offset + run.count * run.dtype.itemsize
    size = file_size(path)
    if size < expected or (whole and size > expected):
        raise CorruptShard(f"expected {expected} bytes, got {size}", path=path)
    if not run.count:
        return np.empty(0, run.dtype)  # an empty range cannot be mapped
    return np.memmap(path, run.dtype, "r", run.offset, (run.count,))


def file_size(path: Path) -> int:
    """Return the size of a file; raises CorruptShard if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError as error:
        raise CorruptShard("no such file", path=path) from error


def read_head(path: Path, size: int) -> bytes:
    """Return the first bytes of a file; raises CorruptShard if it has fewer."""
    file_size(path)
    with path.open("rb") as file:
        head = file.read(size)
    if len(head) < size:
        raise CorruptShard(f"expected a header of {size} bytes, got {len(head)}", path=path)
    return head


def table(path: Path, dtype: str, offset: int, count: int) -> NDArray[Any]:
    """Map a table of numbers in a file."""
    return np.memmap(path, dtype, "r", offset, (count,)) if count else np.empty(0, dtype)
