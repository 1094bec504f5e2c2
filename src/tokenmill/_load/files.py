"""Names of the files that tokenizers come in, and which of them are read for a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# In this order: a tokenizer.json holds more than a bare rank file.
HUB_FILES = (
    "tokenizer.json",
    "tekken.json",
    "tiktoken.model",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model.v3",
)
# Other files that a directory may hold; each counts if there is only one of its kind.
OTHER_FILES = ("*.tiktoken", "*.model", "*.model.v*")
# Last of all, vocabularies that need the files next to them.
VOCABULARIES = ("vocab.json", "vocab.txt")
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
# A vocabulary and the merges that belong to it, by the names they come with.
PAIRS = {"vocab.json": "merges.txt", "encoder.json": "vocab.bpe"}


def files_of(path: Path) -> list[Path]:
    """Return every file that is read for a path, a directory or a file; they need not exist."""
    if not path.is_dir():
        return [path, *companions(path)]
    named = [path / name for name in (*HUB_FILES, *PAIRS, "vocab.txt")]
    patterns = (*OTHER_FILES, "rwkv_vocab*.txt")
    found = [*named, *(file for pattern in patterns for file in sorted(path.glob(pattern)))]
    return list(dict.fromkeys(file for one in found for file in (one, *companions(one))))


def companions(path: Path) -> list[Path]:
    """Return the files next to a vocabulary that may describe it; they need not exist."""
    return [path.parent / name for name in companion_names(path.name)]


def companion_names(name: str) -> tuple[str, ...]:
    """Return what the files next to a vocabulary of this name are called."""
    merges = (*PAIRS.values(),) if name in PAIRS else ()
    is_vocabulary = name in PAIRS or name.endswith(".txt")
    return (*merges, *(SETTINGS if is_vocabulary else ()))
