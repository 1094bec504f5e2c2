"""The ids of pieces, read from the parts that hold them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import _core
from tokenmill._errors import CorruptShard
from tokenmill._platform.files import open_to_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tokenmill._files import NewFile
    from tokenmill._mill.output.kept_ids import KeptIds
    from tokenmill._mill.output.parts import Part

    # Of each piece: its part, its first id in it, and how many ids it has.
    Places = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

_OPEN_FILES = 64  # at once: the system limits them, and every worker has its own


class Collector:
    """Reads ids of parts, and keeps the files open that it needed last; for one thread."""

    def __init__(self, parts: Sequence[Part], dtype: str, kept: KeptIds | None = None) -> None:
        self._parts = parts
        self._kept = kept
        self._dtype = dtype
        self._item_bytes = np.dtype(dtype).itemsize
        self._open: dict[int, int] = {}  # number of a part -> its descriptor

    def collect(
        self,
        part_of: NDArray[np.int64],
        begins: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> NDArray[Any]:
        """Return `lengths[i]` ids from `begins[i]` of part `part_of[i]`, one after another.

        Pieces that follow each other in a part are read at once. Nothing is mapped: the pages that
        a copy touches would count as memory, and cost more than reading them into memory in use.
        """
        used, source = np.unique(part_of, return_inverse=True)
        source = source.astype(np.int32)
        ends = np.cumsum(lengths)
        at = ends - lengths
        out = np.empty(int(ends[-1]) if len(ends) else 0, self._dtype)
        if any(map(self._is_kept, used.tolist())):
            self._join((part_of, begins, lengths), out)
            return out
        for first in range(0, len(used), _OPEN_FILES):
            some = used[first : first + _OPEN_FILES].tolist()
            if len(used) <= _OPEN_FILES:
                self._read(some, (source, begins, lengths, at), out)
            else:
                which = (source >= first) & (source < first + len(some))
                pieces = (source[which] - first, begins[which], lengths[which], at[which])
                self._read(some, pieces, out)
        return out

    def copy(self, pieces: Places, file: NewFile) -> bool:
        """Append ids to a file, as `collect` returns them; False if too many parts have them."""
        part_of, begins, lengths = pieces
        if self._has_kept(part_of):
            self._append(pieces, file)
            return True
        used, source = np.unique(part_of, return_inverse=True)
        numbers = used.tolist()
        if len(used) > _OPEN_FILES:
            return False
        begins, lengths = np.ascontiguousarray(begins), np.ascontiguousarray(lengths)
        places = source.astype(np.int32), begins, lengths
        self._check(numbers, *file.copy_pieces(self._files(numbers), places, self._item_bytes))
        return True

    def _is_kept(self, number: int) -> bool:
        return self._kept is not None and self._parts[number].record.name in self._kept

    def _has_kept(self, part_of: NDArray[np.int64]) -> bool:
        """Whether some ids are in memory; sorting the parts, to have each once, takes longer."""
        if self._kept is None:
            return False
        return any(map(self._is_kept, np.flatnonzero(np.bincount(part_of)).tolist()))

    def _append(self, pieces: Places, file: NewFile) -> None:
        """Append ids to a file, of which some or all are in memory."""
        for number, begin, length in _runs(pieces):
            if self._kept is not None and self._is_kept(number):
                file.write_all(self._kept.views(self._parts[number].record.name, begin, length))
            else:
                place = (np.zeros(1, np.int32), np.array([begin]), np.array([length]))
                files = self._files([number])
                self._check([number], *file.copy_pieces(files, place, self._item_bytes))

    def _join(self, pieces: Places, out: NDArray[Any]) -> None:
        """Put ids into `out`, of which some or all are in memory."""
        at = 0
        for number, begin, length in _runs(pieces):
            if self._kept is not None and self._is_kept(number):
                for view in self._kept.views(self._parts[number].record.name, begin, length):
                    out[at : at + len(view)] = view
                    at += len(view)
            else:
                place = (np.zeros(1, np.int32), *map(np.array, ([begin], [length], [at])))
                self._read([number], place, out)
                at += length

    def close(self) -> None:
        """Close the files."""
        for file in self._open.values():
            os.close(file)
        self._open.clear()

    def _read(
        self, numbers: Sequence[int], pieces: tuple[NDArray[Any], ...], out: NDArray[Any]
    ) -> None:
        """Read pieces of some parts: the part of each, its begin and length, its place in out."""
        source_of, begins, lengths, at = map(np.ascontiguousarray, pieces)
        files = self._files(numbers)
        fault = _core.read_pieces(files, source_of, begins, lengths, at, out)
        self._check(numbers, *fault)

    def _files(self, numbers: Sequence[int]) -> list[int]:
        """Return the descriptors of parts."""
        if len({*self._open, *numbers}) > _OPEN_FILES:
            self.close()
        for number in numbers:
            if number not in self._open:
                self._open[number] = open_to_read(self._parts[number].path)
        return [self._open[number] for number in numbers]

    def _check(self, numbers: Sequence[int], source: int, error: int) -> None:
        if source >= 0:
            path = self._parts[numbers[source]].path
            if error:
                raise OSError(error, os.strerror(error), str(path))
            raise CorruptShard("became shorter while it was read", path=path)


def _runs(pieces: Places) -> Iterator[tuple[int, int, int]]:
    """Yield pieces that follow each other in a part as one: its part, its begin and its length."""
    part_of, begins, lengths = pieces
    if not len(part_of):
        return
    ends = begins + lengths
    is_first = (part_of[1:] != part_of[:-1]) | (begins[1:] != ends[:-1])
    first = np.concatenate(([0], np.flatnonzero(is_first) + 1))
    last = np.append(first[1:], len(part_of)) - 1
    yield from zip(
        part_of[first].tolist(),
        begins[first].tolist(),
        (ends[last] - begins[first]).tolist(),
        strict=True,
    )
