"""Parts: the tokens of some blocks of a stream, in one file and one record.

The file holds sections, one after another: the ids of all documents; for each document its length,
input file, line, position and, if there is a validation split, the hash of its text; and the bad
records, one line of JSON each. The record has the offsets of the sections. A part without its
record does not count.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._files import NewFile
from tokenmill._mill.output.work import read_json, write_json
from tokenmill._platform.files import open_to_read, read_at
from tokenmill._read.blocks import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._mill.output.kept_ids import KeptIds
    from tokenmill._read.blocks import BadRecord, Block

_COLUMNS: dict[str, np.dtype[Any]] = {
    "lengths": np.dtype("<i8"),
    "files": np.dtype("<i4"),
    "lines": np.dtype("<i8"),
    "positions": np.dtype("<i8"),
    "keys": np.dtype("<u8"),
}

NO_TOKENS = "no_tokens"  # the reason of a text that has no tokens


@dataclass(frozen=True)
class EncodedBlock:
    """A block and the ids of its documents, BOS and EOS included."""

    block: Block
    ids: NDArray[Any]
    lengths: NDArray[np.int64]
    keys: NDArray[np.uint64] | None


@dataclass(frozen=True)
class PartRecord:
    """What is in a part, and where its stream continues."""

    stream: int
    part: int
    documents: int
    tokens: int
    text_bytes: int
    input_bytes: int
    blank_lines: int
    bad: dict[str, int]
    replaced: dict[str, int]
    sections: dict[str, list[int]]  # name -> offset, size in bytes
    bytes: int
    after: dict[str, int]
    last: bool
    segment_lines: int  # of the first segment up to here, if the stream is a range of a file

    @property
    def place(self) -> Place:
        """Return where the next part starts."""
        return Place(**self.after)

    @property
    def has_ids(self) -> bool:
        """Whether its file holds the ids, which may have waited in memory for their shards."""
        return self.tokens == 0 or self.sections["ids"][1] > 0

    @property
    def records(self) -> int:
        """How many records were read, good and bad."""
        return self.documents + sum(self.bad.values())

    @property
    def name(self) -> str:
        """The part's name, without a suffix."""
        return part_name(self.stream, self.part)


def part_name(stream: int, part: int) -> str:
    """Name a part so that names sort as parts do."""
    return f"{stream:08d}-{part:06d}"


def read_part(folder: Path, stream: int, part: int) -> PartRecord | None:
    """Return the record of a part; None if there is none, or its file is not whole."""
    name = part_name(stream, part)
    try:
        record = PartRecord(**read_json(folder / f"{name}.json"))
        is_whole = (folder / f"{name}.tokens").stat().st_size == record.bytes
    except (FileNotFoundError, TypeError):  # TypeError: a record of another version
        return None
    return record if is_whole else None


@dataclass
class _Tally:
    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    input_bytes: int = 0
    blank_lines: int = 0
    bad: dict[str, int] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)


class PartWriter:
    """An unfinished part: ids are written as they come, the rest is small and waits.

    Where `kept` has room, the ids stay there instead.
    """

    def __init__(self, folder: Path, stream: int, part: int, kept: KeptIds | None = None) -> None:
        self._folder = folder
        self._name = part_name(stream, part)
        self._stream, self._part = stream, part
        self._file = NewFile(folder / f"{self._name}.tokens", has_checksum=False)
        self._columns: dict[str, list[NDArray[Any]]] = {}
        self._bad: list[bytes] = []
        self._tally = _Tally()
        self._kept = kept if kept is not None and kept.begin(self._name) else None

    @property
    def text_bytes(self) -> int:
        """How much text went into the part so far."""
        return self._tally.text_bytes

    def add(self, encoded: EncodedBlock) -> None:
        """Append a block."""
        block, tally = encoded.block, self._tally
        ids = np.ascontiguousarray(encoded.ids)
        if self._kept is None:
            self._file.write(ids)
        else:
            self._kept.append(self._name, ids)
        self._put("lengths", encoded.lengths)
        self._put("files", block.files)
        self._put("lines", block.lines)
        self._put("positions", block.positions)
        if encoded.keys is not None:
            self._put("keys", encoded.keys)
        tally.documents += len(block)
        tally.tokens += len(encoded.ids)
        tally.text_bytes += block.text_bytes
        tally.input_bytes += block.input_bytes
        tally.blank_lines += block.blank_lines
        for record in block.bad:
            tally.bad[record.reason] = tally.bad.get(record.reason, 0) + 1
            self._bad.append(_bad_line(record))
        for reason, count in block.replaced.items():
            tally.replaced[reason] = tally.replaced.get(reason, 0) + count

    def _put(self, name: str, values: NDArray[Any]) -> None:
        self._columns.setdefault(name, []).append(values.astype(_COLUMNS[name], copy=False))

    def commit(self, after: Place, segment_lines: int, *, last: bool) -> PartRecord:
        """Write the rest, then the record; leave nothing if that fails.

        If another rank was faster, its part stays: it has the same bytes, and somebody may be
        reading it. One whose ids were lost with the memory of a run is written again.
        """
        try:
            there = read_part(self._folder, self._stream, self._part)
            if there is not None and there.has_ids:
                self.discard()
                return there
            return self._finish(after, segment_lines, last=last)
        except BaseException:
            self.discard()
            raise

    def _finish(self, after: Place, segment_lines: int, *, last: bool) -> PartRecord:
        sections = {"ids": [0, self._file.size]}
        end = self._file.size
        rest: dict[str, list[Any]] = {**self._columns, "bad": [b"".join(self._bad)]}
        for name, buffers in rest.items():
            size = sum(memoryview(buffer).nbytes for buffer in buffers)
            sections[name] = [end, size]
            end += size
        self._file.write_all(chain.from_iterable(rest.values()))
        done = self._file.commit()
        record = PartRecord(
            stream=self._stream,
            part=self._part,
            **asdict(self._tally),
            sections=sections,
            bytes=done.bytes,
            after=asdict(after),
            last=last,
            segment_lines=segment_lines,
        )
        write_json(self._folder / f"{self._name}.json", asdict(record))
        return record

    def discard(self) -> None:
        """Remove what was written."""
        self._file.discard()
        if self._kept is not None:
            self._kept.drop(self._name)


@dataclass(frozen=True)
class Part:
    """A finished part, read."""

    folder: Path
    record: PartRecord
    dtype: str

    @property
    def path(self) -> Path:
        """The part's file."""
        return self.folder / f"{self.record.name}.tokens"

    def ids(self) -> NDArray[Any]:
        """Return the ids of all documents, mapped."""
        if self.record.tokens == 0:
            return np.empty(0, self.dtype)
        return np.memmap(self.path, self.dtype, "r", 0, (self.record.tokens,))

    def column(self, name: str) -> NDArray[Any]:
        """Return one of the numbers that each document has."""
        return self.columns(name)[0]

    def columns(self, *names: str) -> list[NDArray[Any]]:
        """Return several of them, read at once.

        Python gives its lock away at every call of the system, and gets it back after the workers
        that want it too: `numpy.fromfile` has ten such calls for each column.
        """
        places = [self.record.sections.get(name, (0, 0)) for name in names]
        begin = min((offset for offset, size in places if size), default=0)
        end = max((offset + size for offset, size in places if size), default=0)
        memory = self._read(begin, end - begin)
        found = []
        for name, (offset, size) in zip(names, places, strict=True):
            at = offset - begin if size else 0
            numbers = memory[at : at + size].view(_COLUMNS[name])
            found.append(np.require(numbers, requirements="A"))
        return found

    def _read(self, begin: int, size: int) -> NDArray[np.uint8]:
        memory = np.empty(size, np.uint8)
        path, skipped = self.rest()
        file = open_to_read(path)
        try:
            done = 0
            while done < size:
                count = read_at(file, memory.data[done:], begin - skipped + done)
                if count == 0:
                    raise CorruptShard("became shorter while it was read", path=path)
                done += count
        finally:
            os.close(file)
        return memory

    def rest(self) -> tuple[Path, int]:
        """Return a file that has all sections but the ids, and where in the part it begins."""
        return self.path, 0

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The tokens of each document."""
        return self.column("lengths")

    def bad(self) -> Iterator[dict[str, Any]]:
        """Yield the bad records."""
        offset, size = self.record.sections["bad"]
        if size == 0:
            return
        path, begin = self.rest()
        with path.open("rb") as file:
            file.seek(offset - begin)
            for line in file.read(size).splitlines():
                yield json.loads(line)

    def is_whole(self) -> bool:
        """Return whether the file is there and has its size."""
        try:
            return self.path.stat().st_size == self.record.bytes
        except OSError:
            return False


def _bad_line(record: BadRecord) -> bytes:
    value = asdict(record)
    value["raw"] = record.raw.decode("utf-8", "backslashreplace")
    return json.dumps(value).encode() + b"\n"
