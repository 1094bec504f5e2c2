"""Parity on another processor: documents and reference ids as files, and their comparison."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _benchmark_path  # noqa: F401
import numpy as np
from _parity_files import (
    MODES,
    Corpus,
    TokenizerFile,
    file_digest,
    ids_path,
    is_sentencepiece,
    offsets_path,
    reference_stem,
)
from _patterns import pattern_of
from _texts import read_documents, read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
HEADER = 4096  # bytes of a .mill file before the compiled model
SHARED = HERE.parent / "benchmarks" / "compare" / "encode"


@dataclass(frozen=True)
class Sample:
    """The documents of one run, and what the reference library makes of each."""

    documents: list[bytes]
    ids: list[np.ndarray[Any, Any]]

    @property
    def size_bytes(self) -> int:
        """Return the bytes of all documents."""
        return sum(map(len, self.documents))


def joined_corpus(corpora: Sequence[Corpus], limit: int, folder: Path) -> Corpus:
    """Write the slices of all corpora as one text, large enough to be divided among threads."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"joined-{limit}.txt"
    path.write_bytes(b"\n".join(read_text(corpus.path, limit) for corpus in corpora))
    return Corpus("joined", path, file_digest(path))


def read_sample(
    tokenizer: TokenizerFile, corpora: Sequence[Corpus], limit: int, cache: Path, key: str
) -> Sample:
    """Return slices of corpora as small documents and as one each, with their reference ids."""
    documents: list[bytes] = []
    ids: list[np.ndarray[Any, Any]] = []
    for corpus in corpora:
        modes = ("whole",) if corpus.name == "joined" else MODES
        size = None if corpus.name == "joined" else limit
        stem = reference_stem(cache, tokenizer, corpus, f"{size} {key}")
        if any(not offsets_path(stem, mode).exists() for mode in modes):
            _compute_reference(tokenizer, corpus, size, stem, modes)
        for mode in modes:
            if mode == "documents":
                documents += read_documents(corpus.path, size)
            else:
                documents.append(read_text(corpus.path, size))
            flat, offsets = np.load(ids_path(stem, mode)), np.load(offsets_path(stem, mode))
            ids += [flat[offsets[n] : offsets[n + 1]] for n in range(len(offsets) - 1)]
    if len(documents) != len(ids):
        sys.exit(f"{tokenizer.name}: {len(documents)} documents, {len(ids)} in the reference")
    return Sample(documents, ids)


def _compute_reference(
    tokenizer: TokenizerFile, corpus: Corpus, limit: int | None, stem: Path, modes: Sequence[str]
) -> None:
    body = {
        "tokenizer": str(tokenizer.path.resolve()),
        "corpus": str(corpus.path.resolve()),
        "limit_bytes": limit,
        "stem": str(stem.resolve()),
        "modes": list(modes),
    }
    paths = os.pathsep.join((str(SHARED), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(  # noqa: S603  our own file
        [sys.executable, str(HERE / "_parity_reference.py")],
        input=json.dumps(body), capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{tokenizer.name} {corpus.name}: no reference ids\n{done.stderr[-2000:]}")


def compile_model(tokenizer: TokenizerFile, folder: Path) -> Path:
    """Compile a tokenizer here, to the file that the other processor reads."""
    out = folder / f"{tokenizer.name}.mill"
    command = [sys.executable, "-m", "tokenmill", "compile", str(tokenizer.path), str(out)]
    if tokenizer.path.suffix != ".json" and not is_sentencepiece(tokenizer.path):
        command += ["--pattern", pattern_of(tokenizer.path)]
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        sys.exit(f"{tokenizer.name}: cannot be compiled\n{done.stderr[-2000:]}")
    return out


def write_documents(documents: Sequence[bytes], path: Path) -> Path:
    """Write documents as tests/platform/encode_file.cpp reads them."""
    sizes = struct.pack(f"<{len(documents) + 1}Q", len(documents), *map(len, documents))
    path.write_bytes(sizes + b"".join(documents))
    return path


def read_ids(path: Path) -> list[np.ndarray[Any, Any]]:
    """Return the ids of each document, as encode_file wrote them."""
    data = path.read_bytes()
    count = int.from_bytes(data[:8], "little")
    offsets = np.frombuffer(data, "<i8", count + 1, 8)
    ids = np.frombuffer(data, "<u4", offset=8 * (count + 2))
    return [ids[offsets[n] : offsets[n + 1]] for n in range(count)]


def mismatches(expected: Sequence[Any], found: Sequence[Any]) -> list[int]:
    """Return the documents whose ids differ."""
    if len(expected) != len(found):
        return list(range(max(len(expected), len(found))))
    pairs = enumerate(zip(expected, found, strict=True))
    return [n for n, (right, ours) in pairs if not np.array_equal(right, ours)]
