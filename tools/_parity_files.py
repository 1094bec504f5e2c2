"""The input of a parity run: tokenizer files, corpora, and the cache of reference ids."""

from __future__ import annotations

import hashlib
import lzma
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODES = ("documents", "whole")
_NAMES = ("tokenizer.json", "tekken.json", "tiktoken.model", "*.tiktoken", "*.model", "*.model.v*")
_BLOCK = 1 << 20


@dataclass(frozen=True)
class TokenizerFile:
    """A tokenizer of the run: its name, its unpacked file, and why it is left out, if it is."""

    name: str
    path: Path
    digest: str
    skipped: str


@dataclass(frozen=True)
class Corpus:
    """A text of the run."""

    name: str
    path: Path
    digest: str


def find_tokenizers(folder: Path, names: list[str] | None, cache: Path) -> Iterator[TokenizerFile]:
    """Yield the tokenizer of every selected folder, plain or .xz."""
    for home in wanted({path.name: path for path in folder.iterdir() if path.is_dir()}, names):
        found = [p for name in _NAMES for p in sorted((*home.glob(name), *home.glob(f"{name}.xz")))]
        if not found:
            yield TokenizerFile(home.name, home, "", "no file of a known kind")
            continue
        path = unpacked(found[0], cache / "tokenizers" / home.name)
        yield TokenizerFile(home.name, path, file_digest(path), "")


def find_corpora(folder: Path, names: list[str] | None) -> Iterator[Corpus]:
    """Yield every selected .txt and .txt.xz file of a folder."""
    paths = (*folder.glob("*.txt"), *folder.glob("*.txt.xz"))
    for path in wanted({path.name.split(".")[0]: path for path in paths}, names):
        yield Corpus(path.name.split(".")[0], path, file_digest(path))


def wanted(paths: dict[str, Path], names: list[str] | None) -> list[Path]:
    """Return the paths with these names, or all paths if there are no names."""
    missing = [name for name in names or () if name not in paths]
    if missing:
        sys.exit(f"not found: {', '.join(missing)}; hint: there are {', '.join(sorted(paths))}")
    return [paths[name] for name in sorted(paths) if names is None or name in names]


def unpacked(path: Path, folder: Path) -> Path:
    """Return the path itself, or for an .xz the path of its content in the cache."""
    if path.suffix != ".xz":
        return path
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / path.stem
    target.write_bytes(lzma.decompress(path.read_bytes()))
    return target


def is_sentencepiece(path: Path) -> bool:
    """Distinguish a SentencePiece model from the rank file tiktoken.model."""
    return ".model" in path.name and path.name != "tiktoken.model"


def file_digest(path: Path) -> str:
    """Return a short hash of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()[:16]


def reference_stem(cache: Path, tokenizer: TokenizerFile, corpus: Corpus, key: str) -> Path:
    """Return the path of the reference ids of a pair, without mode and suffix."""
    content = f"{tokenizer.digest} {corpus.digest} {key}"
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    return cache / "references" / f"{tokenizer.name}.{corpus.name}.{digest}"


def ids_path(stem: Path, mode: str) -> Path:
    """Return the file that holds the ids of all documents in one array."""
    return stem.with_name(f"{stem.name}.{mode}.ids.npy")


def offsets_path(stem: Path, mode: str) -> Path:
    """Return the file with the start of each document's ids, and the end of the last."""
    return stem.with_name(f"{stem.name}.{mode}.offsets.npy")
