"""Decoding where the steps work on the texts of tokens: a table where one will do, else the chain.

The table holds, for every id, what it decodes to after other tokens. Two cases depend on the
place and are handled apart: the first token on its own, and byte tokens, which the table holds as
surrogate escapes, in one strict pass over the UTF-8 that they form together.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._decode.chain import Chain
from tokenmill._decode.clean import TEXT_CLEAN_UP
from tokenmill._decode.text_steps import ReplaceInText
from tokenmill._decode.token_steps import byte_of, bytes_of
from tokenmill._errors import UnknownId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tokenmill._decode.chain import Plan

    Texts = Sequence[str | None]

_ABSENT, _SPECIAL = 1, 2
_HIGH_BYTE, _EMPTY = 1, 2
_FIRST_HIGH = 0x80
_ESCAPE = 0xDC00


class TextDecoder:
    """Decodes ids through the texts of tokens; `read_texts` is called when they are needed.

    Ids without a text are skipped, as in the library, and so are special tokens on request: any
    token whose text is the content of a special one.
    """

    def __init__(
        self, plan: Plan, size: int, read_texts: Callable[[], Texts], special: frozenset[str]
    ) -> None:
        self.plan = plan
        self.size = size
        self._read_texts = read_texts
        self._special = special

    @cached_property
    def texts(self) -> Texts:
        """The token of every id as the vocabulary writes it, None for a hole."""
        return self._read_texts()

    def decode(self, ids: NDArray[np.uint32], skip_special: bool) -> str:
        """Decode one row."""
        ids = self._kept(ids, skip_special)
        if self.plan.as_bytes and not self.plan.token_steps:
            joined = b"".join(self._mapped_bytes[ids])
            return self._after_join(joined.decode(errors="replace"))
        text = self._joined(ids)
        if text is None:
            chain = Chain(self.plan)
            return chain.feed(self._mapped[ids].tolist()) + chain.finish()
        return self._after_join(text)

    def decode_bytes(self, ids: NDArray[np.uint32], skip_special: bool) -> bytes:
        """Decode to UTF-8; where the last step joins bytes, to those bytes, valid or not."""
        plan = self.plan
        if plan.as_bytes and not plan.token_steps and not plan.text_steps:
            return b"".join(self._mapped_bytes[self._kept(ids, skip_special)])
        return self.decode(ids, skip_special).encode()

    def stream(self, skip_special: bool, clean_up: bool) -> TextStream:
        """Begin a decoding in pieces."""
        return TextStream(self, skip_special, clean_up)

    def mapped_bytes(self, token_id: int) -> bytes:
        """Return the bytes of one token, where the plan joins bytes at once."""
        data: bytes = self._mapped_bytes[token_id]
        return data

    def mapped(self, token_id: int) -> str:
        """Return the text of one token after the maps."""
        text: str = self._mapped[token_id]
        return text

    def kept_texts(self, ids: NDArray[np.uint32], skip_special: bool) -> list[str]:
        """Return the texts after the maps, without skipped tokens."""
        texts: list[str] = self._mapped[self._kept(ids, skip_special)].tolist()
        return texts

    def is_kept(self, token_id: int, skip_special: bool) -> bool:
        """Tell whether an id writes anything; UnknownId if there is no such id."""
        if not 0 <= token_id < self.size:
            raise unknown(token_id, self.size)
        return not self._drops[token_id] & (_SPECIAL | _ABSENT if skip_special else _ABSENT)

    def token_bytes(self, token_id: int) -> bytes:
        """Return what an id decodes to after others."""
        if not self.is_kept(token_id, skip_special=False):
            raise unknown(token_id, self.size)
        text = self.mapped(token_id)
        if self.plan.as_bytes:
            return bytes_of(text)
        if self.plan.positional is not None:
            return self.plan.positional.rest(text).encode()
        byte = byte_of(text) if self.plan.is_byte_runs else None
        return text.encode() if byte is None else bytes([byte])

    def _kept(self, ids: NDArray[np.uint32], skip_special: bool) -> NDArray[np.uint32]:
        if len(ids) and int(ids.max()) >= self.size:
            raise unknown(int(ids.max()), self.size)
        wanted = _SPECIAL | _ABSENT if skip_special else _ABSENT
        dropped = self._drops[ids] & wanted
        return ids[dropped == 0] if dropped.any() else ids

    def _joined(self, ids: NDArray[np.uint32]) -> str | None:
        """Join by the table; None where the neighbours of a token matter more than it knows."""
        plan = self.plan
        if plan.as_bytes:
            return None
        if not plan.token_steps:
            return "".join(self._mapped[ids])
        if not len(ids):
            return ""
        if plan.positional is not None:
            first: str = plan.positional.first(self._mapped[ids[0]])
            return first + "".join(self._rest[ids[1:]])
        return self._joined_runs(ids) if plan.is_byte_runs else None

    def _joined_runs(self, ids: NDArray[np.uint32]) -> str | None:
        table, flags = self._escaped
        worst = int(flags[ids].max())
        if worst >= _EMPTY:  # a token without text ends a run, but would not be seen in the text
            return None
        text = "".join(table[ids])
        if not worst & _HIGH_BYTE:
            return text
        try:
            # All other tokens are whole characters: it is UTF-8 if and only if every run is.
            return text.encode("utf-8", "surrogateescape").decode()
        except UnicodeDecodeError:
            return None

    def _after_join(self, text: str) -> str:
        for make in self.plan.text_steps:
            step = make()
            text = step.feed(text) + step.finish()
        return text

    @cached_property
    def _mapped(self) -> NDArray[Any]:
        texts = [text or "" for text in self.texts]
        for change in self.plan.maps:
            texts = list(map(change, texts))
        return _objects(texts)

    @cached_property
    def _mapped_bytes(self) -> NDArray[Any]:
        return _objects([bytes_of(text) for text in self._mapped])

    @cached_property
    def _rest(self) -> NDArray[Any]:
        assert self.plan.positional is not None  # noqa: S101 -- for the type checker
        return _objects([self.plan.positional.rest(text) for text in self._mapped])

    @cached_property
    def _escaped(self) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        table = self._mapped.copy()
        flags = np.zeros(len(table), dtype=np.uint8)
        # Few tokens need a closer look, and there may be hundreds of thousands.
        for token_id in [i for i, text in enumerate(table.tolist()) if text[:1] in ("", "<")]:
            flags[token_id] = 0 if table[token_id] else _EMPTY
            byte = byte_of(table[token_id])
            if byte is not None:
                is_high = byte >= _FIRST_HIGH
                table[token_id] = chr(_ESCAPE + byte) if is_high else chr(byte)
                flags[token_id] = _HIGH_BYTE if is_high else 0
        return table, flags

    @cached_property
    def _drops(self) -> NDArray[np.uint8]:
        special = self._special
        drops = [_ABSENT if t is None else _SPECIAL * (t in special) for t in self.texts]
        return np.array(drops, dtype=np.uint8)


class TextStream:
    """One decoding in pieces."""

    def __init__(self, decoder: TextDecoder, skip_special: bool, clean_up: bool) -> None:
        extra = [ReplaceInText(*pair) for pair in TEXT_CLEAN_UP] if clean_up else []
        self._chain = Chain(decoder.plan, extra)
        self._decoder = decoder
        self._skip_special = skip_special
        self._is_bytes = decoder.plan.as_bytes and not decoder.plan.token_steps

    def push(self, token_id: int) -> str:
        """Take one id."""
        decoder = self._decoder
        if not decoder.is_kept(token_id, self._skip_special):
            return ""
        if self._is_bytes:
            return self._chain.feed_bytes(decoder.mapped_bytes(token_id))
        return self._chain.feed([decoder.mapped(token_id)])

    def push_many(self, ids: NDArray[np.uint32]) -> str:
        """Take many ids."""
        return self._chain.feed(self._decoder.kept_texts(ids, self._skip_special))

    def finish(self) -> str:
        """Return what was held back."""
        return self._chain.finish()


def unknown(token_id: int, size: int) -> UnknownId:
    """Make the error for an id that the vocabulary does not have."""
    return UnknownId(f"expected ids below {size}, got {token_id}", id=token_id)


def _objects(entries: list[Any]) -> NDArray[Any]:
    """Make a row of Python objects, which numpy would otherwise pad to the longest text."""
    table = np.empty(len(entries), dtype=object)
    table[:] = entries
    return table
