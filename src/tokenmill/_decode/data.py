"""Decoding where every id has fixed bytes: the core joins them."""

from __future__ import annotations

import codecs
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._decode.clean import TEXT_CLEAN_UP
from tokenmill._decode.text_steps import ReplaceInText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class BytesDecoder:
    """Decodes ids through a table of bytes; `model` is the core's or its look-alike."""

    def __init__(self, model: Any, special: Iterable[int]) -> None:
        self.model = model
        self._special = frozenset(special)

    def decode(self, ids: NDArray[np.uint32], skip_special: bool, errors: str = "replace") -> str:
        """Decode one row."""
        return self.decode_bytes(ids, skip_special).decode("utf-8", errors)

    def decode_bytes(self, ids: NDArray[np.uint32], skip_special: bool) -> bytes:
        """Join the bytes of one row."""
        data: bytes = self.model.decode(self.kept(ids) if skip_special else ids)
        return data

    def stream(self, skip_special: bool, clean_up: bool) -> BytesStream:
        """Begin a decoding in pieces."""
        return BytesStream(self, self._special if skip_special else frozenset(), clean_up)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of an id."""
        data: bytes = self.model.token_bytes(token_id)
        return data

    def kept(self, ids: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Leave special tokens out; an unknown id stays and is refused when decoded."""
        dropped = self._is_special[np.minimum(ids, len(self._is_special) - 1)]
        return ids[~dropped] if dropped.any() else ids

    @cached_property
    def _is_special(self) -> NDArray[np.bool_]:
        table = np.zeros(self.model.vocab_size + 1, dtype=bool)
        table[list(self._special)] = True
        return table


class BytesStream:
    """One decoding in pieces; holds the bytes of a character that is not complete."""

    def __init__(self, decoder: BytesDecoder, skipped: frozenset[int], clean_up: bool) -> None:
        self._decoder = decoder
        self._bytes_of = decoder.model.token_bytes
        self._skipped = skipped
        self._text_of = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._steps = [ReplaceInText(*pair) for pair in TEXT_CLEAN_UP] if clean_up else []

    def push(self, token_id: int) -> str:
        """Take one id."""
        if token_id in self._skipped:
            return ""
        text = self._text_of(self._bytes_of(token_id))
        return self._through(text) if self._steps else text

    def push_many(self, ids: NDArray[np.uint32]) -> str:
        """Take many ids."""
        data = self._decoder.decode_bytes(ids, bool(self._skipped))
        return self._through(self._text_of(data))

    def finish(self) -> str:
        """Return what was held back."""
        text = self._text_of(b"", True)
        for step in self._steps:
            text = step.feed(text) + step.finish()
        return text

    def _through(self, text: str) -> str:
        for step in self._steps:
            text = step.feed(text)
        return text
