"""The record of a finished shard: what it holds and which files it is made of.

Phase 2 and `rewrite` write one record per shard into the work folder; a rerun reads them back.
"""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._files import FileRecord
from tokenmill._mill.output.work import INDEX
from tokenmill._write import ShardFacts, find_format

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tokenmill._mill.output.work import Work
    from tokenmill._pack.rows import Pieces


@dataclass(frozen=True)
class ShardFile:
    """A file of a shard; its path is relative to the output folder."""

    format: str
    path: str
    bytes: int
    checksum: str


@dataclass(frozen=True)
class ShardRecord:
    """A finished shard; one without rows has no files and no formats."""

    split: str
    number: int
    rows: int
    documents: int  # that start here, so each document is counted in one shard
    pieces: int
    dropped: int
    repeated: int
    formats: dict[str, dict[str, Any]]  # name -> ids, padding, row_length, digest
    files: list[dict[str, Any]]

    def facts(self, name: str, dtype: str, split: str) -> ShardFacts:
        """Return what the format needs for the files that describe all shards."""
        stored = self.formats[name]
        files = [f for f in self.files if f["format"] == name]
        return ShardFacts(
            number=self.number,
            split=split,
            rows=self.rows,
            ids=stored["ids"],
            dtype=dtype,
            row_length=stored["row_length"],
            files=tuple(
                FileRecord(f["path"].removeprefix(name + "/"), f["bytes"], f["checksum"])
                for f in files
            ),
            digest=stored["digest"],
        )


def has_room_for_one(shard_tokens: int | None, context_length: int | None) -> bool:
    """Return whether a shard of this many tokens has room for only one row."""
    if shard_tokens is None or context_length is None:
        return False
    return shard_tokens < 2 * context_length


def shard_record(
    place: tuple[str, int],
    documents: int,
    pieces: Pieces,
    facts: Mapping[str, ShardFacts],
    files: Sequence[ShardFile],
) -> ShardRecord:
    """Return the record of a finished shard; `place` is its split and number."""
    real = int(pieces.lengths.sum())
    return ShardRecord(
        split=place[0],
        number=place[1],
        rows=pieces.rows,
        documents=documents,
        pieces=len(pieces.lengths),
        dropped=pieces.dropped,
        repeated=pieces.repeated,
        formats={
            name: {
                "ids": fact.ids,
                "padding": fact.ids - real,
                "row_length": fact.row_length,
                "digest": fact.digest,
            }
            for name, fact in facts.items()
        },
        files=[asdict(file) for file in files],
    )


def read_record(work: Work, split: str, number: int) -> ShardRecord | None:
    """Return the record of a shard, if it exists and all its files have their sizes."""
    value = work.read_record(_name(split, number))
    if value is None:
        return None
    record = ShardRecord(**value)
    whole = all(work.holds(file["path"], file["bytes"]) for file in record.files)
    return record if whole else None


def keep_record(work: Work, record: ShardRecord, then: Callable[[], None] | None = None) -> None:
    """Deliver the files of a shard, and write its record when they are safe."""

    def write() -> None:
        work.write_record(_name(record.split, record.number), asdict(record))
        if then is not None:
            then()

    work.deliver(record.files, write)


def _name(split: str, number: int) -> str:
    return f"shards/{split}-{number:08d}.json"


def placed(format_name: str, record: FileRecord) -> ShardFile:
    """Return a file of a format with its path in the output."""
    return ShardFile(format_name, f"{format_name}/{record.path}", record.bytes, record.checksum)


def manifest_entries(shards: Sequence[ShardRecord], name: str) -> list[dict[str, Any]]:
    """Return the manifest's entries for the shards of a format."""
    entries = []
    for shard in (shard for shard in shards if shard.rows):
        own = [f for f in shard.files if f["format"] == name]
        index = next(f for f in shard.files if f["format"] == INDEX)
        stored = shard.formats[name]
        entries.append(
            {
                "path": own[0]["path"],
                "format": name,
                "split": shard.split,
                "number": shard.number,
                "tokens": stored["ids"],
                "padding": stored["padding"],
                "rows": shard.rows,
                "documents": shard.documents,
                "bytes": own[0]["bytes"],
                "checksum": own[0]["checksum"],
                "index": index["path"],
                "files": [
                    {key: f[key] for key in ("path", "bytes", "checksum")} for f in [*own, index]
                ],
            }
        )
    return entries


def finish_formats(
    output: Path,
    formats: Sequence[str],
    shards: Sequence[ShardRecord],
    dtype: str,
    *,
    in_splits: bool,
) -> list[FileRecord]:
    """Write the files of each format that describe all its shards; return them."""
    files: list[FileRecord] = []
    for name in formats:
        facts = [
            shard.facts(name, dtype, shard.split if in_splits else "")
            for shard in shards
            if shard.rows
        ]
        files += [
            dataclasses.replace(done, path=f"{name}/{done.path}")
            for done in find_format(name).finish(output / name, facts)
        ]
    return files


def file_entries(files: Sequence[FileRecord]) -> list[dict[str, Any]]:
    """Return the manifest's entries for files that belong to no shard."""
    return [{"path": f.path, "bytes": f.bytes, "checksum": f.checksum} for f in files]
