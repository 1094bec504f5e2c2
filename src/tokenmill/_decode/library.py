"""Decoding through the reference library, for what the native steps cannot do exactly."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._decode.clean import TEXT_CLEAN_UP, replace_all
from tokenmill._decode.text import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tokenmill._reference.model import ReferenceModel


class LibraryDecoder:
    """Decodes through the library, which `make_model` imports when it is first needed."""

    def __init__(self, size: int, make_model: Callable[[], ReferenceModel]) -> None:
        self.size = size
        self._make_model = make_model

    @cached_property
    def _model(self) -> ReferenceModel:
        return self._make_model()

    def decode(self, ids: NDArray[np.uint32], skip_special: bool) -> str:
        """Decode one row."""
        return self.decode_bytes(ids, skip_special).decode(errors="replace")

    def decode_bytes(self, ids: NDArray[np.uint32], skip_special: bool) -> bytes:
        """Decode one row to UTF-8."""
        if len(ids) and int(ids.max()) >= self.size:
            raise unknown(int(ids.max()), self.size)
        return self._model.library.decode(ids.tolist(), skip_special)

    def stream(self, skip_special: bool, clean_up: bool) -> LibraryStream:
        """Begin a decoding in pieces."""
        return LibraryStream(self, skip_special, clean_up)

    def token_bytes(self, token_id: int) -> bytes:
        """Return what an id decodes to by itself."""
        return self.decode_bytes(np.array([token_id], dtype=np.uint32), skip_special=False)


class LibraryStream:
    """Holds all ids until the end: only the library knows what the next one may change."""

    def __init__(self, decoder: LibraryDecoder, skip_special: bool, clean_up: bool) -> None:
        self._decoder = decoder
        self._skip_special = skip_special
        self._clean_up = clean_up
        self._ids: list[int] = []

    def push(self, token_id: int) -> str:
        """Keep one id."""
        if not 0 <= token_id < self._decoder.size:
            raise unknown(token_id, self._decoder.size)
        self._ids.append(token_id)
        return ""

    def push_many(self, ids: NDArray[np.uint32]) -> str:
        """Keep many ids."""
        if len(ids) and int(ids.max()) >= self._decoder.size:
            raise unknown(int(ids.max()), self._decoder.size)
        self._ids += ids.tolist()
        return ""

    def finish(self) -> str:
        """Decode the whole."""
        text = self._decoder.decode(np.array(self._ids, dtype=np.uint32), self._skip_special)
        return replace_all(text, TEXT_CLEAN_UP) if self._clean_up else text
