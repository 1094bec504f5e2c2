"""Vocabularies of a tokenizer.json: what all kinds of models share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError
from tokenmill._load.fields import member, shown
from tokenmill._spec import OpaqueModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokenmill._spec import BpeModel, UnigramModel, WordLevelModel, WordPieceModel

    Model = BpeModel | WordPieceModel | UnigramModel | WordLevelModel | OpaqueModel


@dataclass
class ReadModel:
    """A model and the reasons why it cannot be run natively."""

    model: Model
    reasons: list[str] = field(default_factory=list)


def read_vocab(section: dict[str, Any]) -> dict[str, int]:
    """Read a vocabulary of the form {token: id}."""
    vocab: dict[str, int] = member(section, "vocab", dict, "model")
    if vocab and (set(map(type, vocab.values())) != {int} or min(vocab.values()) < 0):
        for token, token_id in vocab.items():
            if type(token_id) is not int or token_id < 0:
                place = f"model.vocab[{token!r}]"
                raise LoadError(f"{place}: expected a whole number, got {shown(token_id)}")
    return vocab


def size_of(vocab: Mapping[str, int]) -> int:
    """One more than the largest id."""
    return 1 + max(vocab.values(), default=-1)


def id_reasons(vocab: Mapping[str, int]) -> list[str]:
    """Explain why a vocabulary does not fit into a table with one token for each id."""
    reasons = []
    size = size_of(vocab)
    if size > 4 * len(vocab) + 1024:
        reasons.append(f"ids up to {size - 1} for {len(vocab)} tokens")
    if len(set(vocab.values())) != len(vocab):
        reasons.append("two tokens of the vocabulary share an id")
    return reasons


def opaque(vocab: Mapping[str, int], reasons: list[str]) -> ReadModel:
    """Leave a model to its library."""
    return ReadModel(OpaqueModel(size_of(vocab)), reasons)


def by_id(size: int, entries: Iterable[tuple[int, bytes | None]]) -> list[bytes | None]:
    """Return a table of entries by their ids, None for holes."""
    table: list[bytes | None] = [None] * size
    for token_id, entry in entries:
        table[token_id] = entry
    return table


def utf8_of_tokens(texts: Iterable[str]) -> list[bytes]:
    """Return the UTF-8 of tokens."""
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        problem = f"a token holds a lone surrogate, got {error.object[error.start]!r}"
        raise LoadError(problem) from error


def utf8_table(vocab: Mapping[str, int]) -> tuple[bytes | None, ...]:
    """Return the UTF-8 of each token by its id; an empty token is never found in a text."""
    spelled = [entry or None for entry in utf8_of_tokens(vocab)]
    return tuple(by_id(size_of(vocab), zip(vocab.values(), spelled, strict=True)))


def read_byte_ids(vocab: Mapping[str, int]) -> tuple[tuple[int, ...] | None, list[str]]:
    """Return the ids of "<0x00>" to "<0xFF>" for a model that falls back to bytes.

    None if there are none. If only some exist, that is a reason against the native path: the
    library checks for each character whether all of its bytes are tokens.
    """
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    found = [vocab[name] for name in names if name in vocab]
    if len(found) == len(names):
        return tuple(found), []
    if not found:
        return None, []
    return None, [f"byte_fallback with {len(found)} of 256 byte tokens"]
