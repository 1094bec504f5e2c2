"""Finished outputs for tests of commands other than `pack`, and ways to damage them."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tokenmill._files import checksum
from tokenmill._mill.pack import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tokenmill._mill.output.manifest import Manifest

TEXTS = [
    f"hello world {i} \u00e9\u4e2d\U0001f600\ttab\nline \x1b[31m " * (i % 7) + f"end of {i}"
    for i in range(60)
]
BAD = {3: b"{bad", 20: b'{"text": 5}', 41: b'{"text": ""}'}  # before which text

ALL_FORMATS = "bin,megatron,datatrove,olmo,llmc,litdata,mds,npy,parquet,arrow"  # torch is slow
WAYS: dict[str, dict[str, Any]] = {
    "concat": {"context_length": 48, "format": ALL_FORMATS},
    "overlap": {"context_length": 48, "overlap": 20, "tail": "carry", "format": "bin,parquet"},
    "bestfit": {
        "pack": "bestfit", "context_length": 48, "validation": 0.3, "shuffle": "docs",
        "format": ALL_FORMATS,
    },
    "crop": {"pack": "bos-bestfit-crop", "context_length": 48, "bos": True, "tail": "drop"},
    "pad": {
        "pack": "pad", "context_length": 48, "long_documents": "truncate", "max_sequences": 33,
        "format": "npy,mds",
    },
    "none": {"pack": "none", "format": "megatron,mds,parquet,olmo"},
    "limits": {"context_length": 48, "max_tokens": 2500, "limit_documents": 50, "tail": "drop"},
}  # fmt: skip


@contextmanager
def no_waiting() -> Iterator[None]:
    """Do not wait for the disk, which changes no byte."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def write_corpus(path: Path, texts: list[str] | None = None) -> dict[int, int]:
    """Write documents with bad lines among them; return the line of each."""
    lines: list[bytes] = []
    places = {}
    for number, text in enumerate(TEXTS if texts is None else texts):
        if number in BAD:
            lines.append(BAD[number])
        places[number] = len(lines) + 1
        lines.append(json.dumps({"text": text}).encode())
    path.write_bytes(b"\n".join(lines) + b"\n")
    return places


def make(corpus: Path, output: Path, tokenizer: Path, **options: Any) -> Manifest:
    return pack([corpus], output=output, tokenizer=tokenizer, **{"shard_tokens": 2000, **options})


def files_of(folder: Path) -> dict[str, bytes]:
    """Return all files except those that record how the others were made."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in (".lock", "manifest.json")
    }


def change_manifest(output: Path, change: Callable[[Any], None]) -> None:
    path = output / "manifest.json"
    data = json.loads(path.read_bytes())
    change(data)
    path.write_text(json.dumps(data))


def forge(output: Path, name: str, content: bytes) -> None:
    """Replace a file, and change the manifest to match."""
    (output / name).write_bytes(content)
    record = {"bytes": len(content), "checksum": checksum(output / name)}

    def believe(data: Any) -> None:
        for shard in data["shards"]:
            for file in shard["files"]:
                if file["path"] == name:
                    file.update(record)
            if shard["path"] == name:
                shard.update(record)
        for file in data["files"]:
            if file["path"] == name:
                file.update(record)

    change_manifest(output, believe)


def forge_ids(output: Path, name: str, at: int, value: int, dtype: str = "<u2") -> None:
    """Change one id of a `bin` shard."""
    ids = np.fromfile(output / name, dtype)
    ids[at] = value
    forge(output, name, ids.tobytes())
