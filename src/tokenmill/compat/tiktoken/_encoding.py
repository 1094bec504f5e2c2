"""Encoding: the surface of `tiktoken.Encoding`."""

from __future__ import annotations

import threading
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tokenmill._calls.threads import available
from tokenmill._errors import InvalidUtf8
from tokenmill._tokenizer import Tokenizer
from tokenmill.compat.tiktoken._decoding import DecodeCalls
from tokenmill.compat.tiktoken._peer import peer_library
from tokenmill.compat.tiktoken._special_text import pattern_of, refuse, repaired, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    Allowed: TypeAlias = Literal["all"] | AbstractSet[str]
    Disallowed: TypeAlias = Literal["all"] | Collection[str]

_NOTHING: frozenset[str] = frozenset()
_lock = threading.Lock()
registry: dict[str, Encoding] = {}  # the encodings that `get_encoding` has returned


class Encoding(DecodeCalls):
    """A `tiktoken.Encoding` on tokenmill: the same arguments, results and types of errors."""

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
        """Encode a text; special tokens in it are encoded like any other text."""
        ids: list[int] = self._ordinary(text).tolist()
        return ids

    def encode(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> list[int]:
        """Encode a text; ValueError if it has a special token that is disallowed."""
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
        """Encode into an array; UnicodeEncodeError for surrogates, which `encode` replaces."""
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
        """Return the stable ids and all possible continuations; `tiktoken` itself computes them."""
        found: tuple[list[int], list[list[int]]] = self._peer.encode_with_unstable(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        return found

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """Encode one piece without splitting it; `tiktoken` itself does it."""
        ids: list[int] = self._peer._encode_single_piece(text_or_bytes)  # noqa: SLF001
        return ids

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """Encode with the splits of `regex`; `tiktoken` itself does it."""
        ids: list[int] = self._peer._encode_only_native_bpe(text)  # noqa: SLF001
        return ids

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Encode bytes; where they are not UTF-8, `tiktoken` itself guesses the splits."""
        if not isinstance(text, bytes):
            raise TypeError(f"text: expected bytes, got {type(text).__name__}")
        try:
            plain = text.decode()
        except UnicodeDecodeError:
            ids: list[int] = self._peer._encode_bytes(text)  # noqa: SLF001
            return ids
        return self.encode_ordinary(plain)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of one token, special or not; KeyError if there is no such token."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"expected str or bytes, got {type(data).__name__}")
        token_id = self._ids.get(bytes(data))
        if token_id is None:
            raise KeyError(data)
        return token_id

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
        """Whether an id belongs to a special token."""
        assert isinstance(token, int)  # noqa: S101 -- the library raises AssertionError too
        return token in self._special_values

    @property
    def n_vocab(self) -> int:
        """One more than the largest id."""
        return self.max_token_value + 1

    def __getstate__(self) -> object:
        if registry.get(self.name) is self:
            return self.name
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __setstate__(self, state: Any) -> None:  # the value of __getstate__
        if isinstance(state, str):
            self.__dict__ = encoding_of(state).__dict__
        else:
            Encoding.__init__(self, **state)

    def _allowed(self, text: str, allowed: Allowed, disallowed: Disallowed) -> AbstractSet[str]:
        """Return the allowed tokens; ValueError if the text has a disallowed one."""
        chosen = self.special_tokens_set if allowed == "all" else allowed
        refused = self._refused(chosen, disallowed)
        refuse(text, frozenset(refused) if refused else _NOTHING)
        return chosen

    def _refused(self, allowed: AbstractSet[str], disallowed: Disallowed) -> Collection[str]:
        if disallowed == "all":
            return self.special_tokens_set - allowed
        return disallowed

    def _mode(self, allowed: AbstractSet[str]) -> Literal["encode", "text"] | None:
        """Return the engine's mode for a set of allowed tokens; None if it has no such mode."""
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
        """Encode the text between the special tokens that are allowed."""
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

    @cached_property
    def _ambiguous(self) -> bool:
        """Whether one special token starts with another: the peer decides which one it takes."""
        words = sorted(self.special_tokens_set)
        return "" in words or any(b.startswith(a) for a, b in pairwise(words))

    @cached_property
    def _peer(self) -> Any:  # a class of the library
        return peer_library().Encoding(
            self.name,
            pat_str=self._pat_str,
            mergeable_ranks=self._mergeable_ranks,
            special_tokens=self._special_tokens,
        )


def encoding_of(name: str) -> Encoding:
    """Return an encoding by its name; the registry and the files of `tiktoken` define it."""
    with _lock:
        if name not in registry:
            registry[name] = _converted(peer_library().get_encoding(name))
        return registry[name]


def _converted(peer: Any) -> Encoding:  # a class of the library
    return Encoding(
        peer.name,
        pat_str=peer._pat_str,  # noqa: SLF001
        mergeable_ranks=peer._mergeable_ranks,  # noqa: SLF001
        special_tokens=peer._special_tokens,  # noqa: SLF001
    )


def _check_size(encoding: Encoding, expected: int) -> None:
    count = len(encoding._mergeable_ranks) + len(encoding._special_tokens)  # noqa: SLF001
    if count != expected or encoding.max_token_value != expected - 1:
        raise AssertionError(
            f"explicit_n_vocab: expected {expected} tokens, got {count}, the largest id being "
            f"{encoding.max_token_value}"
        )
