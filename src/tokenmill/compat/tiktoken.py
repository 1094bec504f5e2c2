"""The surface of `tiktoken`: `import tokenmill.compat.tiktoken as tiktoken`.

Encodings are those that `tiktoken` knows: its registry and its files are asked for them. An
`Encoding` can also be made of its parts, and then nothing but tokenmill is needed.
"""

from __future__ import annotations

import threading
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tokenmill._calls.threads import available
from tokenmill._errors import InvalidUtf8, MissingDependency
from tokenmill._tokenizer import Tokenizer
from tokenmill.compat._special_text import index_of, pattern_of, refuse, repaired, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    Allowed: TypeAlias = Literal["all"] | AbstractSet[str]
    Disallowed: TypeAlias = Literal["all"] | Collection[str]

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]

_NOTHING: frozenset[str] = frozenset()
_CONTINUES = range(0x80, 0xC0)  # a byte inside a character
_registry: dict[str, Encoding] = {}
_lock = threading.Lock()


class Encoding:
    """An encoding as `tiktoken.Encoding` is one: same arguments, results and types of errors."""

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        self.name = name
        self._pat_str = pat_str
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        self._special_values = frozenset(special_tokens.values())
        self.max_token_value = max([*mergeable_ranks.values(), *special_tokens.values()])
        if explicit_n_vocab:
            _check_size(self, explicit_n_vocab)
        self._tokenizer = Tokenizer.load(self)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode; the text of a special token is text like any other."""
        ids: list[int] = self._ordinary(text).tolist()
        return ids

    def encode(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> list[int]:
        """Encode; special tokens count where allowed, and raise ValueError where disallowed."""
        allowed = self._allowed(text, allowed_special, disallowed_special)
        try:
            return self._encode(text, allowed).tolist()  # type: ignore[no-any-return]
        except InvalidUtf8:
            return self._encode(repaired(text), allowed).tolist()  # type: ignore[no-any-return]

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> NDArray[np.uint32]:
        """Encode into an array; UnicodeEncodeError for surrogates, which `encode` repairs."""
        allowed = self._allowed(text, allowed_special, disallowed_special)
        try:
            return self._encode(text, allowed)
        except (InvalidUtf8, TypeError):
            text_of(text).encode()  # raises what the peer raises
            raise

    def encode_ordinary_batch(
        self, text: Iterable[str], *, num_threads: int = 8
    ) -> list[list[int]]:
        """Encode many texts as `encode_ordinary` does."""
        texts = [text_of(one) for one in text]
        return self._batch(texts, "text", num_threads)

    def encode_batch(
        self,
        text: Iterable[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """Encode many texts as `encode` does."""
        allowed = self.special_tokens_set if allowed_special == "all" else allowed_special
        refused = frozenset(self._refused(allowed, disallowed_special))
        texts, mode = list(text), None
        for one in texts:  # the first error is that of the first text
            refuse(one, refused)
            mode = self._mode(allowed)
            text_of(one)
        if mode is None:
            return [self.encode(t, allowed_special=allowed, disallowed_special=()) for t in texts]
        return self._batch(texts, mode, num_threads)

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """Return the stable ids and all ways to go on; runs through `tiktoken` itself."""
        found: tuple[list[int], list[list[int]]] = self._peer.encode_with_unstable(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        return found

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of one token, special ones included; KeyError if there is none."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"expected str or bytes, got {type(data).__name__}")
        token_id = self._ids.get(bytes(data))
        if token_id is None:
            raise KeyError(data)
        return token_id

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids; KeyError for an id that there is not."""
        ids = np.asarray(tokens)
        if ids.ndim == 1 and ids.dtype.kind in "iu" and self._all_known(ids):
            return self._tokenizer.decode_bytes(ids)
        return b"".join([self.decode_single_token_bytes(token) for token in tokens])

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of ids; `errors` is that of `bytes.decode`."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id; KeyError if there is no such id."""
        number = np.uint32(index_of(token))  # OverflowError for what cannot be an id
        data = self._bytes.get(int(number))
        if data is None:
            raise KeyError(token)
        return data

    def decode_tokens_bytes(self, tokens: Iterable[int]) -> list[bytes]:
        """Return the bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Iterable[int]) -> tuple[str, list[int]]:
        """Return the text and, for each id, the place of its first character."""
        parts = self.decode_tokens_bytes(tokens)
        begins, characters = [], 0
        for part in parts:
            begins.append(max(0, characters - (part[0] in _CONTINUES)))
            characters += sum(byte not in _CONTINUES for byte in part)
        return b"".join(parts).decode("utf-8", errors="strict"), begins

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Return the text of each row."""
        return [self.decode(row, errors) for row in batch]

    def decode_bytes_batch(
        self, batch: Iterable[Sequence[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """Return the bytes of each row."""
        return [self.decode_bytes(row) for row in batch]

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all tokens that are not special, in order."""
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        """The id of "<|endoftext|>"."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Tell whether an id is that of a special token."""
        assert isinstance(token, int)  # noqa: S101 -- AssertionError is what callers know
        return token in self._special_values

    @property
    def n_vocab(self) -> int:
        """One more than the largest id."""
        return self.max_token_value + 1

    def __getstate__(self) -> object:
        if _registry.get(self.name) is self:
            return self.name
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __setstate__(self, state: Any) -> None:  # what __getstate__ returned
        if isinstance(state, str):
            self.__dict__ = get_encoding(state).__dict__
        else:
            Encoding.__init__(self, **state)

    def _allowed(self, text: str, allowed: Allowed, disallowed: Disallowed) -> AbstractSet[str]:
        """Return the set that is allowed; ValueError where the text has what is disallowed."""
        chosen = self.special_tokens_set if allowed == "all" else allowed
        refused = self._refused(chosen, disallowed)
        refuse(text, frozenset(refused) if refused else _NOTHING)
        return chosen

    def _refused(self, allowed: AbstractSet[str], disallowed: Disallowed) -> Collection[str]:
        if disallowed == "all":
            return self.special_tokens_set - allowed
        return disallowed

    def _mode(self, allowed: AbstractSet[str]) -> Literal["encode", "text"] | None:
        """Return the engine's word for a set, None if it has none."""
        wanted = self.special_tokens_set & allowed
        if not wanted:
            return "text"
        return "encode" if wanted == self.special_tokens_set and not self._ambiguous else None

    def _encode(self, text: str, allowed: AbstractSet[str]) -> NDArray[np.uint32]:
        mode = self._mode(allowed)
        if mode is not None:
            return self._tokenizer.encode(text_of(text), special_in_text=mode)
        if self._ambiguous:
            ids = self._peer.encode(text, allowed_special=allowed, disallowed_special=())
            return np.array(ids, dtype=np.uint32)
        return self._between(text_of(text), frozenset(self.special_tokens_set & allowed))

    def _between(self, text: str, allowed: frozenset[str]) -> NDArray[np.uint32]:
        """Encode what lies between the special tokens that are allowed."""
        pieces = pattern_of(allowed).split(text)  # text, special, text, ..., text
        rows = [
            np.array([self._special_tokens[piece]], dtype=np.uint32)
            if n % 2
            else self._tokenizer.encode(piece, special_in_text="text")
            for n, piece in enumerate(pieces)
        ]
        return np.concatenate(rows)

    def _ordinary(self, text: str) -> NDArray[np.uint32]:
        try:
            return self._tokenizer.encode(text_of(text), special_in_text="text")
        except InvalidUtf8:
            return self._tokenizer.encode(repaired(text), special_in_text="text")

    def _batch(
        self, texts: list[str], mode: Literal["encode", "text"], threads: int
    ) -> list[list[int]]:
        threads = min(threads, available())
        try:
            batch = self._tokenizer.encode_batch(texts, special_in_text=mode, threads=threads)
        except InvalidUtf8:
            texts = [repaired(text) for text in texts]
            batch = self._tokenizer.encode_batch(texts, special_in_text=mode, threads=threads)
        return batch.tolist()

    def _all_known(self, ids: NDArray[Any]) -> bool:
        if not ids.size:
            return True
        inside = ids.min() >= 0 and ids.max() <= self.max_token_value
        return bool(inside and self._known[ids].all())

    @cached_property
    def _ambiguous(self) -> bool:
        """Special tokens of which one begins like another: which one wins, the peer decides."""
        words = sorted(self.special_tokens_set)
        return "" in words or any(b.startswith(a) for a, b in pairwise(words))

    @cached_property
    def _bytes(self) -> dict[int, bytes]:
        special = {token_id: text.encode() for text, token_id in self._special_tokens.items()}
        return special | {token_id: data for data, token_id in self._mergeable_ranks.items()}

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        special = {text.encode(): token_id for text, token_id in self._special_tokens.items()}
        return special | self._mergeable_ranks

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        known = np.zeros(self.max_token_value + 1, dtype=np.bool_)
        known[list(self._bytes)] = True
        return known

    @cached_property
    def _peer(self) -> Any:  # a class of the library
        return _library("tiktoken").Encoding(
            self.name,
            pat_str=self._pat_str,
            mergeable_ranks=self._mergeable_ranks,
            special_tokens=self._special_tokens,
        )


def get_encoding(encoding_name: str) -> Encoding:
    """Return an encoding by its name, from `tiktoken`'s registry and its files."""
    if not isinstance(encoding_name, str):
        raise ValueError(  # the peer's choice
            f"encoding_name: expected a string, got {type(encoding_name).__name__}"
        )
    with _lock:
        if encoding_name not in _registry:
            _registry[encoding_name] = _taken_over(_library("tiktoken").get_encoding(encoding_name))
        return _registry[encoding_name]


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding of a model; KeyError for a model that `tiktoken` does not know."""
    return get_encoding(encoding_name_for_model(model_name))


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of the encoding of a model."""
    name: str = _library("tiktoken").encoding_name_for_model(model_name)
    return name


def list_encoding_names() -> list[str]:
    """Return the names that `get_encoding` knows."""
    names: list[str] = _library("tiktoken").list_encoding_names()
    return names


def _taken_over(peer: Any) -> Encoding:  # a class of the library
    return Encoding(
        peer.name,
        pat_str=peer._pat_str,  # noqa: SLF001
        mergeable_ranks=peer._mergeable_ranks,  # noqa: SLF001
        special_tokens=peer._special_tokens,  # noqa: SLF001
    )


def _library(name: str) -> Any:  # a module
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency(
            "names of encodings and models are looked up in this package, not installed",
            name=name,
            hint=f"pip install {name}, or make an Encoding of its parts",
        ) from error


def _check_size(encoding: Encoding, expected: int) -> None:
    count = len(encoding._mergeable_ranks) + len(encoding._special_tokens)  # noqa: SLF001
    if count != expected or encoding.max_token_value != expected - 1:
        raise AssertionError(
            f"explicit_n_vocab: expected {expected} tokens, got {count}, the largest id being "
            f"{encoding.max_token_value}"
        )
