"""The manifest of a finished output: its files, how they were made, and the accounts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._errors import CorruptShard, SourceNotFound
from tokenmill._mirror import local_output, shown

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from tokenmill._stats import RunStats

SCHEMA = 1
NAME = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """A finished output. `data` is the content of its manifest.json.

    `stats` are the counters of the run that has just finished it; a manifest that was loaded has
    none, because they differ from run to run.
    """

    folder: Path
    data: dict[str, Any]
    stats: RunStats | None = field(default=None, compare=False)
    address: str = ""  # of an output in a store that has no folder in the cache

    @property
    def where(self) -> str:
        """The output, as people call it: its address if it is in a store."""
        return self.address or shown(self.folder)

    @classmethod
    def load(cls, output: str | os.PathLike[str]) -> Manifest:
        """Read the manifest of a finished output."""
        folder = local_output(output)
        path = folder / NAME if folder.is_dir() else folder
        if path.name != NAME and not path.exists():
            raise SourceNotFound("no such folder", source=str(output), hint="is the path right?")
        if not path.exists():
            raise SourceNotFound(
                "no manifest.json here: nothing was packed, or the run is not finished",
                source=str(output),
                hint="`tokenmill status` shows what is there; the same `tokenmill pack` resumes it",
            )
        return cls(path.parent, cls.parse(path.read_bytes(), str(path)))

    @staticmethod
    def parse(text: bytes, path: str) -> dict[str, Any]:
        """Read the bytes of a manifest; `path` is where they come from."""
        try:
            data: dict[str, Any] = json.loads(text)
            if data["schema"] != SCHEMA:
                raise CorruptShard(
                    f"expected schema {SCHEMA}, got {data['schema']}",
                    path=path,
                    hint="update tokenmill",
                )
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, CorruptShard):
                raise
            raise CorruptShard(
                f"not the manifest of an output: {error}",
                path=path,
                hint="without it nothing here can be trusted or removed: choose another output",
            ) from error
        return data

    @property
    def shards(self) -> list[dict[str, Any]]:
        """The shards: `path`, `split`, `format`, `tokens`, `rows`, `documents`, `checksum` ..."""
        return list(self.data["shards"])

    @property
    def documents(self) -> dict[str, Any]:
        """The account of documents: `in`, `out`, `skipped` by reason, `replaced`."""
        return dict(self.data["documents"])

    @property
    def tokens(self) -> dict[str, int]:
        """The account of tokens: `in`, `out`, `padding`, `repeated`, `dropped`."""
        return dict(self.data["tokens"])

    @property
    def options(self) -> dict[str, Any]:
        """The options that decided the bytes."""
        return dict(self.data["options"])

    @property
    def plan_id(self) -> str:
        """The hash of inputs, tokenizer and options."""
        return str(self.data["plan_id"])

    def __repr__(self) -> str:
        return (
            f"Manifest({self.where!r}, {len(self.shards)} shards, "
            f"{self.documents['out']:,} documents, {self.tokens['out']:,} tokens)"
        )
