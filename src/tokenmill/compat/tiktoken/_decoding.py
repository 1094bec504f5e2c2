"""From ids to bytes and text, as `tiktoken.Encoding` does it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill.compat.tiktoken._special_text import index_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tokenmill._tokenizer import Tokenizer

_CONTINUES = range(0x80, 0xC0)  # a byte inside a character


class DecodeCalls:
    """The methods that decode; a base of `Encoding`."""

    _tokenizer: Tokenizer
    _mergeable_ranks: dict[bytes, int]
    _special_tokens: dict[str, int]
    max_token_value: int

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids; KeyError for an unknown id."""
        ids = np.asarray(tokens)
        if ids.ndim == 1 and ids.dtype.kind in "iu" and self._all_known(ids):
            return self._tokenizer.decode_bytes(ids)
        return b"".join([self.decode_single_token_bytes(token) for token in tokens])

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of ids; `errors` is passed to `bytes.decode`."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id; KeyError if it is unknown."""
        number = np.uint32(index_of(token))  # OverflowError for what cannot be an id
        data = self._bytes.get(int(number))
        if data is None:
            raise KeyError(token)
        return data

    def decode_tokens_bytes(self, tokens: Iterable[int]) -> list[bytes]:
        """Return the bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Iterable[int]) -> tuple[str, list[int]]:
        """Return the text and, the position of each id in it."""
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

    def _all_known(self, ids: NDArray[Any]) -> bool:
        if not ids.size:
            return True
        inside = ids.min() >= 0 and ids.max() <= self.max_token_value
        return bool(inside and self._known[ids].all())

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
