"""Which tokens begin, end and pad a document: from the files next to a tokenizer, or by name.

The first of these that names a token wins:

1. tokenizer_config.json and special_tokens_map.json, which name the token ("eos_token");
2. generation_config.json and config.json, which give its id ("eos_token_id"). Of several ids the
   one with the best-known name wins, else the first; an id below 0 means that there is none;
3. the best-known name among the tokenizer's special tokens, in the order of `KNOWN_NAMES`.

The template that a tokenizer puts around texts is not used: in many tokenizers its last token
closes a turn, not a document, or there is none.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tokenmill._errors import LoadError, TokenmillError
from tokenmill._load.fields import parse_json, shown
from tokenmill._load.hub import fetch_beside, is_repository_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Role = Literal["eos", "bos", "pad"]

ROLES: tuple[Role, ...] = ("eos", "bos", "pad")
NAMING_FILES = ("tokenizer_config.json", "special_tokens_map.json")
NUMBERING_FILES = ("generation_config.json", "config.json")
# Names that several publishers use come first; one that ends turns of a chat is the last resort.
KNOWN_NAMES: dict[Role, tuple[str, ...]] = {
    "eos": (
        "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]", "<EOS>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>", "<|im_end|>",
    ),
    "bos": (
        "<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>", "<|bos|>", "[BOS]", "<BOS>",
        "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
    ),
    "pad": ("<pad>", "<|pad|>", "[PAD]", "<PAD>", "<|padding|>", "<|finetune_right_pad_id|>"),
}  # fmt: skip


class Vocabulary(Protocol):
    """The part of a tokenizer that is needed here."""

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Return the special tokens with their ids."""

    @property
    def vocab_size(self) -> int:
        """Return how many ids there are."""

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, or None."""

    def id_to_token(self, token_id: int) -> str:
        """Return the token of an id."""


@dataclass(frozen=True)
class BoundaryToken:
    """A token with its id; `origin` is where it was found, e.g. "config.json: eos_token_id"."""

    id: int
    token: str
    origin: str


@dataclass(frozen=True)
class BoundaryTokens:
    """The tokens for each role; None if nothing names one, or if it was not asked for."""

    eos: BoundaryToken | None = None
    bos: BoundaryToken | None = None
    pad: BoundaryToken | None = None


def find_boundary_tokens(
    source: object, tokenizer: Vocabulary, roles: Sequence[Role] = ROLES
) -> BoundaryTokens:
    """Find the tokens of a tokenizer that was loaded from `source`: a path, a hub id, an object.

    A file that names a token or an id which the vocabulary does not have raises LoadError, but
    only for the `roles` asked for.

        find_boundary_tokens("gpt2/", tokenizer).eos
        -> BoundaryToken(50256, "<|endoftext|>", "tokenizer_config.json: eos_token")
    """
    files = list(settings_files(source))
    found = {role: _find(role, source, files, tokenizer) for role in roles}
    return BoundaryTokens(**found)


def _find(
    role: Role, source: object, files: list[tuple[Path, dict[str, Any]]], tokenizer: Vocabulary
) -> BoundaryToken | None:
    for path, data in files:
        named = path.name in NAMING_FILES
        found = (_named if named else _numbered)(role, path, data, tokenizer)
        if found is not None:
            return found
    attribute = getattr(source, f"{role}_token", None)  # of a tokenizer of another library
    token_id = tokenizer.token_to_id(attribute) if isinstance(attribute, str) else None
    if isinstance(attribute, str) and token_id is not None:
        return BoundaryToken(token_id, attribute, f"{type(source).__name__}.{role}_token")
    special = tokenizer.special_tokens
    for name in KNOWN_NAMES[role]:
        if name in special:
            return BoundaryToken(special[name], name, "its special tokens")
    written_by: Any = getattr(tokenizer, "token_bytes", None)  # not every vocabulary has it
    for name in KNOWN_NAMES[role] if written_by is not None else ():
        token_id = tokenizer.token_to_id(name)
        # A control piece of SentencePiece: no text becomes it, so it is not a special token either.
        if token_id is not None and not written_by(token_id):
            return BoundaryToken(token_id, name, "its control pieces")
    return None


def _named(
    role: Role, path: Path, data: dict[str, Any], tokenizer: Vocabulary
) -> BoundaryToken | None:
    key = f"{role}_token"
    value = data.get(key)
    token = value.get("content") if isinstance(value, dict) else value
    if token is None or token == "":
        return None
    if not isinstance(token, str):
        raise LoadError(f"{key}: expected the text of a token, got {shown(value)}", path=path)
    token_id = tokenizer.token_to_id(token)
    if token_id is None:
        problem = f"{key}: expected a token of the vocabulary, got {token!r}"
        raise LoadError(problem, path=path, hint=f"name another {role.upper()} token")
    return BoundaryToken(token_id, token, f"{path.name}: {key}")


def _numbered(
    role: Role, path: Path, data: dict[str, Any], tokenizer: Vocabulary
) -> BoundaryToken | None:
    key = f"{role}_token_id"
    value = data.get(key)
    if value is None and isinstance(data.get("text_config"), dict):  # nested if it reads images
        value = data["text_config"].get(key)
    numbers: list[Any] = value if isinstance(value, list) else [value]
    if value is None or numbers == [] or (type(numbers[0]) is int and numbers[0] < 0):
        return None
    tokens: dict[str, int] = {}
    for number in numbers:
        tokens.setdefault(_token_of(number, key, path, tokenizer), number)
    known = [name for name in KNOWN_NAMES[role] if name in tokens]
    token = known[0] if known else next(iter(tokens))
    return BoundaryToken(tokens[token], token, f"{path.name}: {key}")


def _token_of(number: object, key: str, path: Path, tokenizer: Vocabulary) -> str:
    problem = f"{key}: expected an id of the vocabulary, got {shown(number)}"
    if type(number) is not int or not 0 <= number < tokenizer.vocab_size:
        raise LoadError(problem, path=path)
    try:
        return tokenizer.id_to_token(number)
    except TokenmillError as error:  # ids may have gaps
        raise LoadError(problem, path=path) from error


def _folder_of(source: object) -> Path | None:
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    if path.exists():
        return path if path.is_dir() else path.parent
    name = os.fspath(source)
    if is_repository_name(name):
        return fetch_beside(name, (*NAMING_FILES, *NUMBERING_FILES))
    return None


def settings_files(source: object) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Read the settings next to a tokenizer that was loaded from `source`, in order."""
    folder = _folder_of(source)
    names = () if folder is None else (*NAMING_FILES, *NUMBERING_FILES)
    for path in (Path(folder or "") / name for name in names):
        with suppress(FileNotFoundError):
            yield path, _parse(path)


def _parse(path: Path) -> dict[str, Any]:
    text = path.read_bytes()
    try:
        return parse_json(text)
    except LoadError as error:
        raise LoadError(str(error), path=path) from error
