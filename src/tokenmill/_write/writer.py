"""Writers of shards: rows in, in order; complete files out, or none."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import _core
from tokenmill._errors import DtypeError, TokenmillError
from tokenmill._files import NewFile
from tokenmill._write.format import CHUNK, ShardFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._files import FileRecord
    from tokenmill._pack.rows import Rows, ShardShape
    from tokenmill._write.format import Extras, Format


class ShardWriter(ABC):
    """An unfinished shard: `write` its rows in order, then `commit` or `discard`.

    `padding` counts the ids that were added to fill rows.
    """

    def __init__(
        self,
        form: Format,
        folder: Path,
        number: int,
        shape: ShardShape,
        split: str,
        *,
        extras: Extras,
    ) -> None:
        form.check(shape)
        self._extras = extras
        self.padding = 0
        self._format = form
        self._folder = folder
        self._number = number
        self._shape = shape
        self._split = split
        self._names = form.file_names(number, split)
        self._digest = ""
        self._row = 0
        self._records: list[FileRecord] = []
        self._files: list[NewFile] = []
        self._file = self._add_file()

    def write(self, rows: Rows) -> None:
        """Append rows."""
        lengths = rows.pieces.row_lengths
        if not np.array_equal(lengths, self._shape.row_lengths[self._row :][: len(lengths)]):
            raise self._differs(
                f"rows {self._row} to {self._row + len(lengths)} have different lengths"
            )
        if len(rows.ids) != int(lengths.sum()):
            raise self._differs(f"{int(lengths.sum())} ids were expected, got {len(rows.ids)}")
        self._append(rows, lengths)
        self._row += len(lengths)

    def copy_rows(self, copy: Callable[[NewFile], bool]) -> bool:
        """Let `copy` append the ids of all rows to the file; False if it must not, or did not.

        Only for a file that stores the ids as they are, back to back.
        """
        if not self._stores_ids_as_they_are() or not copy(self._file):
            return False
        self._row = self._shape.rows
        return True

    def _stores_ids_as_they_are(self) -> bool:
        return False

    def commit(self) -> list[FileRecord]:
        """Give all files their names, the one with the tokens first."""
        if self._row != self._shape.rows:
            raise self._differs(f"{self._shape.rows} rows were expected, got {self._row}")
        try:
            self._close()
            for name, file in zip(self._names, self._files, strict=True):
                self._records.append(dataclasses.replace(file.commit(), path=name))
        except BaseException:
            self.discard()
            raise
        return list(self._records)

    def discard(self) -> None:
        """Remove the files that have not been given their names yet."""
        for file in self._files:
            file.discard()

    @property
    def facts(self) -> ShardFacts:
        """What `Format.finish` needs of the shard; complete after `commit`."""
        return ShardFacts(
            number=self._number,
            split=self._split,
            rows=self._shape.rows,
            ids=self._format.stored_ids(self._shape),
            dtype=self._shape.dtype,
            row_length=self._format.stored_length(self._shape),
            files=tuple(self._records),
            digest=self._digest,
        )

    @abstractmethod
    def _append(self, rows: Rows, lengths: NDArray[np.int64]) -> None:
        """Write rows, whose lengths match the shape."""

    def _close(self) -> None:  # noqa: B027 -- most formats need nothing here
        """Write what comes after the last row."""

    def _add_file(self) -> NewFile:
        file = NewFile(self._folder / self._names[len(self._files)])
        self._files.append(file)
        return file

    def _add_files(self, contents: Iterable[Iterable[Any]]) -> None:
        for buffers in contents:
            file = self._add_file()
            for buffer in buffers:
                file.write(buffer)

    def _differs(self, problem: str) -> TokenmillError:
        where = f"{self._format.name} shard {self._number}"
        return TokenmillError(f"the rows do not match the shape: {problem}", where=where)


def filled(
    ids: NDArray[Any], lengths: NDArray[np.int64], length: int | None, pad_id: int | None
) -> Iterator[NDArray[Any]]:
    """Yield rows back to back, each padded to `length`; full rows are not copied.

    ids 1 2 3 4 in rows of 2, 1, 1; length 2, pad id 0 -> 1 2, 3 0, 4 0
    """
    if length is None or bool((lengths == length).all()):
        yield ids
        return
    at_once = max(1, (CHUNK >> 2) // length)
    ends = np.cumsum(lengths)
    for first in range(0, len(lengths), at_once):
        part = lengths[first : first + at_once]
        begin = int(ends[first]) - int(part[0])
        run = ids[begin : begin + int(part.sum())]
        full = bool((part == length).all())
        yield run if full else _fill(run, part, length, pad_id)


def _fill(
    ids: NDArray[Any], lengths: NDArray[np.int64], length: int, pad_id: int | None
) -> NDArray[Any]:
    assert pad_id is not None  # noqa: S101 -- Format.check sees to it
    return np.asarray(_core.fill_rows(np.ascontiguousarray(ids), lengths, length, pad_id))


def cast(ids: NDArray[Any], dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Yield ids as another number type, some at a time; refuses ids that do not fit."""
    for begin in range(0, len(ids), CHUNK):
        part = ids[begin : begin + CHUNK]
        if part.dtype != dtype:
            largest, smallest = int(part.max()), int(part.min())
            if largest > np.iinfo(dtype).max or smallest < 0:
                wrong = smallest if smallest < 0 else largest
                raise DtypeError(f"id {wrong} does not fit {dtype.name}", hint="use uint32")
        yield np.ascontiguousarray(part, dtype)
