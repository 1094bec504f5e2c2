"""Where each library finds the tokenizer: all of them load the same definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenmill._errors import UnsupportedTokenizer
from tokenmill._load.known import KNOWN
from tokenmill._tokenizer import Tokenizer


def tokenizer_files(source: str | None, pattern: str | None, folder: Path) -> dict[str, Any]:
    """Write a tokenizer.json to the folder if that can be exact, and return all places."""
    tokenizer = Tokenizer.load(source, pattern=pattern)
    path: Path | None = folder / "tokenizer.json"
    try:
        tokenizer.save(folder / "tokenizer.json")
    except UnsupportedTokenizer:  # SentencePiece: only tokenmill can be measured
        path = None
    return {
        "source": source,  # not the copy: its compiled model is in the cache by now
        "pattern": pattern,
        "json": None if path is None else str(path),
        "folder": _folder_of(source),
        **_rank_file(source, pattern),
    }


def _folder_of(source: str | None) -> str | None:
    """Return what `transformers` can be asked for: the folder of a file, a folder, a hub id."""
    if source is None:
        return None
    return str(Path(source).parent) if Path(source).is_file() else source


def _rank_file(source: str | None, pattern: str | None) -> dict[str, str | None]:
    """Return the rank file and the regular expression that goes with it, if the source is one."""
    path = Path(source or "")
    name = pattern or path.name.removesuffix(".tiktoken")
    known = KNOWN.get(name)
    regex = known.pattern if known is not None else pattern
    if path.suffix != ".tiktoken" or not path.is_file() or regex is None:
        return {"ranks": None, "regex": None}
    return {"ranks": str(path), "regex": regex}
