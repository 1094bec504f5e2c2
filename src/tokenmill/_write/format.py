"""What a format defines: file names, limits, a writer of shards, and a reader."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tokenmill._errors import DtypeError, OptionError, ShardTooLarge
from tokenmill._files import FileRecord, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._pack.rows import ShardShape
    from tokenmill._write.writer import ShardWriter

SMALLER = "make the shards smaller"
CHUNK = 1 << 22  # ids read at once

# Returns (id, source, line) for each document number, for formats that store places.
Places = Callable[["NDArray[np.int64]"], Iterable[tuple[str, str, int]]]


@dataclass(frozen=True)
class ShardFacts:
    """A finished shard, as the files that describe all shards need it. `ids` counts padding."""

    number: int
    split: str
    rows: int
    ids: int
    dtype: str
    row_length: int | None  # None if rows have different lengths
    files: tuple[FileRecord, ...]
    digest: str = ""  # xxh64 of the first file, in formats that publish it


@dataclass(frozen=True)
class Runs:
    """A shard's ids in runs of whole rows, and the number of each run's first row.

    A run is a view of a mapped file, or is decoded each time it is asked for if `decoded` is set:
    then a caller that reads rows at random should keep some runs.
    """

    first_rows: NDArray[np.int64]
    ids: Sequence[NDArray[Any]]
    decoded: bool = False


@dataclass(frozen=True)
class Extras:
    """What some formats store in addition to the tokens, or depend on."""

    tokenizer: str = ""
    places: Places | None = None
    single_rows: bool = False  # no shard of the output can have more than one row


class Format(ABC):
    """A file format that shards are written in.

    The files of a shard are named by its number and split; the split is "" if an output has only
    one. Names are paths relative to the folder of the format.
    """

    name: ClassVar[str]
    fixed_rows: ClassVar[bool] = False  # every row is padded to context_length
    pads: ClassVar[bool] = True  # short rows are padded if the shape asks for it
    is_mapped: ClassVar[bool] = True  # rows are read by number without decoding others
    stores_places: ClassVar[bool] = False  # it stores where each document came from
    default_pack: ClassVar[str] = "concat"

    @abstractmethod
    def file_names(self, shard: int, split: str = "") -> tuple[str, ...]:
        """Return the names of a shard's files, the one with the tokens first."""

    @abstractmethod
    def writer_of(self, shape: ShardShape) -> type[ShardWriter]:
        """Return the writer of such a shard."""

    def open_shard(
        self,
        folder: Path,
        number: int,
        shape: ShardShape,
        *,
        split: str = "",
        extras: Extras = Extras(),  # noqa: B008 -- frozen
    ) -> ShardWriter:
        """Start a shard; refuses one that the format cannot hold."""
        return self.writer_of(shape)(self, folder, number, shape, split, extras=extras)

    @abstractmethod
    def read_shard(
        self, folder: Path, number: int, *, dtype: str, split: str = ""
    ) -> Iterator[NDArray[Any]]:
        """Yield the ids of a shard as they are stored, padding included, some at a time."""

    def map_ids(
        self, folder: Path, number: int, *, dtype: str, split: str = ""
    ) -> NDArray[Any] | None:
        """Map a shard's ids into memory, in the file's own number type.

        None if they are not in one run.
        """
        del folder, number, dtype, split
        return None

    def map_runs(self, folder: Path, number: int, *, dtype: str, split: str = "") -> Runs:
        """Return a shard's ids in runs of whole rows, for rows to be read by number."""
        ids = self.map_ids(folder, number, dtype=dtype, split=split)
        if ids is None:
            raise NotImplementedError(f"{self.name} has ids in several runs and does not list them")
        return Runs(np.zeros(1, np.int64), (ids,))

    def finish(self, folder: Path, shards: Sequence[ShardFacts]) -> list[FileRecord]:
        """Write the files that describe all shards; may be called again."""
        del folder, shards
        return []

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse a shard that the format cannot hold; `max_id` is the largest possible id."""
        check_ids(self.name, shape, max_id)
        if self.fixed_rows and shape.context_length is None:
            raise OptionError(
                "expected rows of one length, got whole documents",
                where=self.name,
                hint="give a context length, or choose a format that stores documents",
            )
        short = self.stored_lengths(shape) > shape.row_lengths
        if shape.pad_id is None and bool(short.any()):
            raise OptionError(
                f"{int(short.sum())} rows are shorter than {shape.context_length} tokens, "
                "and no pad id is given",
                where=self.name,
                hint="give a pad id, or drop the tail",
            )

    def id_bytes(self, dtype: str) -> int:
        """Return about how many bytes an id takes."""
        return 2 if dtype == "uint16" else 4

    def stored_length(self, shape: ShardShape) -> int | None:
        """Return the length of every stored row; None if rows have different lengths."""
        return shape.context_length if self.fixed_rows or (self.pads and shape.padded) else None

    def stored_lengths(self, shape: ShardShape) -> NDArray[np.int64]:
        """Return the length of each row as it is stored."""
        length = self.stored_length(shape)
        if length is None:
            return shape.row_lengths
        return np.full(shape.rows, length, np.int64)

    def stored_ids(self, shape: ShardShape) -> int:
        """Count a shard's ids as they are stored, padding included."""
        length = self.stored_length(shape)
        return shape.tokens if length is None else shape.rows * length


def check_ids(name: str, shape: ShardShape, max_id: int | None) -> None:
    """Refuse an unknown number type, ids that do not fit it, and rows that are too long."""
    if shape.dtype not in {"uint16", "uint32"}:
        raise DtypeError(f"unknown dtype {shape.dtype!r}", where=name, hint='"uint16" or "uint32"')
    largest = max((i for i in (max_id, shape.pad_id) if i is not None), default=0)
    if largest > np.iinfo(shape.dtype).max:
        raise DtypeError(f"id {largest} does not fit {shape.dtype}", where=name, hint="use uint32")
    if shape.context_length is not None and shape.context_length < 1:
        raise OptionError(
            f"expected a context of at least 1 token, got {shape.context_length}", where=name
        )
    longest = int(shape.row_lengths.max(initial=0))
    if shape.context_length is not None and longest > shape.context_length:
        raise OptionError(
            f"a row of {longest} tokens is longer than the context of {shape.context_length}",
            where=name,
        )


def check_signed(name: str, max_id: int | None) -> None:
    """Refuse ids that do not fit int32, the only wide type of some formats."""
    if max_id is not None and max_id > np.iinfo(np.int32).max:
        raise DtypeError(f"id {max_id} does not fit int32", where=name)


def check_row_length(name: str, lengths: NDArray[np.int64]) -> None:
    """Refuse rows whose lengths do not fit int32."""
    check_size(name, "tokens in one row", int(lengths.max(initial=0)), 1 << 31)


def check_size(name: str, what: str, size: int, limit: int) -> None:
    """Refuse a shard that reaches a limit of the format."""
    if size >= limit:
        raise ShardTooLarge(
            f"{size:,} {what} are too many: the limit of the format is {limit:,}",
            where=name,
            hint=SMALLER,
        )


def stem(shard: int, split: str) -> str:
    """Name a shard: number 3 of no split -> "shard-00003", of val -> "val-00003"."""
    return f"{split or 'shard'}-{shard:05d}"


def in_split(split: str, name: str) -> str:
    """Put a file into the folder of its split, for formats with one index per folder."""
    return f"{split}/{name}" if split else name


def write_indices(
    folder: Path, shards: Sequence[ShardFacts], index: Callable[[list[ShardFacts]], bytes]
) -> list[FileRecord]:
    """Write one `index.json` for each split, into its folder."""
    in_order = sorted(shards, key=lambda shard: (shard.split, shard.number))
    records = []
    for split, those in groupby(in_order, key=lambda shard: shard.split):
        name = in_split(split, "index.json")
        record = write_file(folder / name, index(list(those)))
        records.append(dataclasses.replace(record, path=name))
    return records
