"""Vocabularies of other libraries' tokenizers: what EOS, BOS and padding need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokenmill._load.boundary_tokens import BoundaryToken, BoundaryTokens, find_boundary_tokens

if TYPE_CHECKING:
    from tokenmill._load.boundary_tokens import Role, Vocabulary

MAX_IDS = 2**31  # the type of input_ids


class LibraryVocabulary:
    """The vocabulary of a `tokenizers.Tokenizer`."""

    def __init__(self, tokenizer: Any) -> None:  # of the library
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        self.special_tokens: Mapping[str, int] = {
            token.content: number for number, token in added.items() if token.special
        }
        self.vocab_size = max((tokenizer.get_vocab_size(), *(number + 1 for number in added)))

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, or None."""
        found: int | None = self._tokenizer.token_to_id(token)
        return found

    def id_to_token(self, token_id: int) -> str:
        """Return the token of an id."""
        return str(self._tokenizer.id_to_token(token_id))


class PythonVocabulary:
    """The vocabulary of a tokenizer written in Python: of `transformers`, or any object."""

    def __init__(self, tokenizer: Any) -> None:  # any object
        self._tokenizer = tokenizer
        self._is_transformers = is_transformers(tokenizer)
        if self._is_transformers:
            names, ids = tokenizer.all_special_tokens, tokenizer.all_special_ids
            self.special_tokens: Mapping[str, int] = dict(zip(names, ids, strict=True))
            self.vocab_size = max((len(tokenizer), *(i + 1 for i in ids)))
        else:
            found = getattr(tokenizer, "special_tokens", None)
            self.special_tokens = dict(found) if isinstance(found, Mapping) else {}
            size = getattr(tokenizer, "vocab_size", None)
            self.vocab_size = size if isinstance(size, int) else MAX_IDS

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, or None; the id for unknown tokens does not count."""
        if token in self.special_tokens:
            return self.special_tokens[token]
        if self._is_transformers:
            number = self._tokenizer.convert_tokens_to_ids(token)
            is_known = isinstance(number, int) and self.id_to_token(number) == token
            return number if is_known else None
        find = getattr(self._tokenizer, "token_to_id", None)
        found = find(token) if callable(find) else None
        return found if isinstance(found, int) else None

    def id_to_token(self, token_id: int) -> str:
        """Return the token of an id, or the id if the object does not know it."""
        if self._is_transformers:
            return str(self._tokenizer.convert_ids_to_tokens(token_id))
        return next((t for t, i in self.special_tokens.items() if i == token_id), f"id {token_id}")


def is_transformers(tokenizer: object) -> bool:
    """Whether an object is a tokenizer of `transformers`, judged by its methods."""
    names = ("convert_tokens_to_ids", "convert_ids_to_tokens", "all_special_tokens")
    return callable(tokenizer) and all(hasattr(tokenizer, name) for name in names)


def boundary_tokens(source: object, vocabulary: Vocabulary) -> BoundaryTokens:
    """Find EOS, BOS and padding; an object may also have their ids, such as `eos_token_id`."""
    found = find_boundary_tokens(source, vocabulary)
    if not isinstance(vocabulary, PythonVocabulary):
        return found
    roles: tuple[Role, ...] = ("eos", "bos", "pad")
    own = {role: getattr(found, role) or _numbered(role, source, vocabulary) for role in roles}
    return BoundaryTokens(**own)


def _numbered(role: Role, source: object, vocabulary: Vocabulary) -> BoundaryToken | None:
    number = getattr(source, f"{role}_token_id", None)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        return None
    origin = f"{type(source).__name__}.{role}_token_id"
    return BoundaryToken(number, vocabulary.id_to_token(number), origin)
