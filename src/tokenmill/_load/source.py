"""A source of any kind -> the reader that fits it -> TokenizerSpec."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._errors import LoadError, SourceNotFound
from tokenmill._load.fields import parse_json
from tokenmill._load.files import HUB_FILES, OTHER_FILES, PAIRS, VOCABULARIES
from tokenmill._load.hub import fetch_from_hub, is_repository_name
from tokenmill._load.objects import read_object
from tokenmill._load.rwkv import is_world_vocabulary, read_world_vocabulary
from tokenmill._load.sentencepiece import read_sentencepiece
from tokenmill._load.sentencepiece_file import is_sentencepiece
from tokenmill._load.tekken import is_tekken, read_tekken
from tokenmill._load.tiktoken import is_rank_file, read_rank_file
from tokenmill._load.tokenizer_json import read_tokenizer_json
from tokenmill._load.vocab_files import (
    is_vocab_json,
    is_wordpiece_file,
    read_vocab_and_merges,
    read_wordpiece_file,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill._spec import TokenizerSpec


def load_source(
    source: object,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    written: bytes | None = None,
) -> TokenizerSpec:
    """Describe a tokenizer, wherever it comes from.

    `source` is a path (tokenizer.json, tekken.json, a tiktoken rank file, a SentencePiece model,
    vocab.txt of WordPiece, vocab.json with merges.txt next to it, an RWKV world vocabulary, or a
    directory that holds one of them), a hub id ("owner/name" or "gpt2"), or a tokenizer
    that `tokenizers`, `transformers` or `tiktoken` has loaded.  The content of a
    file decides what kind it is.
    `pattern` (the name of a published encoding or a regular expression) and `special_tokens` are
    for rank files only, which hold neither. `written` is passed to `read_object`.

        load_source("gpt2/tokenizer.json").vocab_size -> 50257
    """
    if not isinstance(source, (str, os.PathLike)):
        _refuse_options(pattern, special_tokens, "a loaded tokenizer")
        return read_object(source, written)
    path = Path(source)
    if not path.exists():
        name = os.fspath(source)
        if not is_repository_name(name):
            raise _not_found(name)
        path = fetch_from_hub(name)
        return _load_file(path, name, pattern, special_tokens)
    if path.is_dir():
        path = _file_in(path)
    return _load_file(path, _name_of(path), pattern, special_tokens)


def _load_file(
    path: Path, name: str, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> TokenizerSpec:
    try:
        return _read(path, name, pattern, special_tokens)
    except LoadError as error:
        if error.path is not None:
            raise
        # The readers know the place inside the file, only this function knows the file.
        message = str(error)
        for place in (f"line {error.line}: ", f"byte {error.offset}: "):
            message = message.removeprefix(place)
        raise LoadError(
            message, path=path, line=error.line, offset=error.offset
        ) from error.__cause__


def _read(
    path: Path, name: str, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> TokenizerSpec:
    text = path.read_bytes()
    if is_rank_file(text):
        return read_rank_file(text, name, pattern, special_tokens)
    if is_sentencepiece(text):
        _refuse_options(pattern, special_tokens, "a SentencePiece model")
        return read_sentencepiece(text, name)
    _refuse_options(pattern, special_tokens, "a file of this kind")
    if is_world_vocabulary(text):
        return read_world_vocabulary(text, name)
    if path.name in PAIRS.values() and (other := _vocabulary_of(path)) is not None:
        return _read_pair(other, path, name)
    if is_wordpiece_file(text):
        return read_wordpiece_file(text, path, name)
    if text.lstrip()[:1] != b"{":
        raise _unknown_content(text)
    return _read_json(text, path, name)


def _read_json(text: bytes, path: Path, name: str) -> TokenizerSpec:
    data = parse_json(text)
    if path.name in PAIRS and is_vocab_json(data):
        return _read_pair(path, path.parent / PAIRS[path.name], name)
    if "model" in data:
        return read_tokenizer_json(data, text, name)
    if is_tekken(data):
        return read_tekken(data, name)
    problem = f'expected "model", or "config" and "vocab", got the members {sorted(data)[:8]}'
    hint = "this JSON is not a tokenizer; look for a tokenizer.json next to it"
    raise LoadError(problem, hint=hint)


def _vocabulary_of(merges: Path) -> Path | None:
    names = [vocabulary for vocabulary, other in PAIRS.items() if other == merges.name]
    return next((merges.parent / n for n in names if (merges.parent / n).is_file()), None)


def _read_pair(vocabulary: Path, merges: Path, name: str) -> TokenizerSpec:
    if not merges.is_file():
        problem = f"expected {merges.name} next to this vocabulary, got no such file"
        raise LoadError(problem, hint="give the tokenizer.json, or put the merges there")
    data = parse_json(vocabulary.read_bytes())
    return read_vocab_and_merges(data, merges, vocabulary, name)


def _unknown_content(text: bytes) -> LoadError:
    problem = "expected JSON, lines of `base64 rank`, a SentencePiece model or a vocabulary"
    hint = "give a tokenizer.json, a tekken.json, a tiktoken rank file or a tokenizer.model"
    return LoadError(f"{problem}, got {text[:24]!r}", hint=hint)


def _refuse_options(
    pattern: str | None, special_tokens: Mapping[str, int] | None, what: str
) -> None:
    if pattern is not None or special_tokens is not None:
        problem = f"expected no pattern and no special_tokens for {what}, which has its own"
        raise LoadError(f"{problem}, got {'pattern' if pattern is not None else 'special_tokens'}")


def _file_in(directory: Path) -> Path:
    for name in HUB_FILES:
        if (directory / name).is_file():
            return directory / name
    rank_files = sorted(directory.glob("*.tiktoken"))
    if len(rank_files) == 1:
        return rank_files[0]
    for vocabulary, merges in PAIRS.items():
        if (directory / vocabulary).is_file() and (directory / merges).is_file():
            return directory / vocabulary
    others = [directory / "vocab.txt", *sorted(directory.glob("rwkv_vocab*.txt"))]
    if not rank_files and (file := next(filter(Path.is_file, others), None)) is not None:
        return file
    single = {pattern: sorted(directory.glob(pattern)) for pattern in OTHER_FILES}
    for files in single.values():
        if len(files) == 1:
            return files[0]
    found = ", ".join(f"{len(files)} {pattern}" for pattern, files in single.items() if files)
    names = (*HUB_FILES, "vocab.json and merges.txt", "vocab.txt")
    wanted = f"{', '.join(names)} or one {' or '.join(OTHER_FILES)}"
    problem = f"expected {wanted} in the directory, got {found or 'none of them'}"
    raise SourceNotFound(problem, source=str(directory), hint="give the path of the file itself")


def _name_of(path: Path) -> str:
    """Name a tokenizer: the directory is more telling than "tokenizer.json"."""
    names = {*HUB_FILES, *VOCABULARIES, *PAIRS, *PAIRS.values()}
    return path.resolve().parent.name if path.name in names else path.stem


def _not_found(name: str) -> SourceNotFound:
    hint = 'give a path that exists, or a hub id like "owner/name" or "gpt2"'
    return SourceNotFound("no such file or directory", source=name, hint=hint)
