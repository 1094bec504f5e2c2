"""Decoding of SentencePiece models: pieces and bytes -> text, as in their library."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._decode.clean import TEXT_CLEAN_UP
from tokenmill._decode.text import unknown
from tokenmill._decode.text_steps import ReplaceInText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tokenmill._spec import SentencePieceDecoder

_MARKER = "\u2581"
_BYTE, _HIGH_BYTE, _EMPTY = 1, 2, 4
_ASCII_END = 0x80
_ESCAPE = 0xDC00


class PieceDecoder:
    """Decodes ids by the rules of a `SentencePieceDecoder`; `read_texts` gives the pieces."""

    def __init__(
        self,
        rules: SentencePieceDecoder,
        size: int,
        read_texts: Callable[[], Sequence[str | None]],
    ) -> None:
        self.rules = rules
        self.size = size
        self._read_texts = read_texts

    def decode(self, ids: NDArray[np.uint32], skip_special: bool) -> str:
        """Decode one row."""
        ids = self.kept(ids, skip_special)
        run = PieceRun(self)
        written = ""
        first = 0
        # What is stripped depends on what is written before it: as long as that is nothing.
        while first < len(ids) and not run.has_written:
            written += run.push(int(ids[first]))
            first += 1
        rest = None if run.holds_bytes else self._joined(ids[first:])
        if rest is None:
            return written + run.push_many(ids[first:]) + run.finish()
        return written + rest

    def decode_bytes(self, ids: NDArray[np.uint32], skip_special: bool) -> bytes:
        """Decode one row to UTF-8."""
        return self.decode(ids, skip_special).encode()

    def stream(self, skip_special: bool, clean_up: bool) -> PieceStream:
        """Begin a decoding in pieces."""
        return PieceStream(self, skip_special, clean_up)

    def token_bytes(self, token_id: int) -> bytes:
        """Return what an id decodes to after others."""
        byte = self.byte_of.get(token_id)
        written: str = self.written[token_id]
        return written.encode() if byte is None else bytes([byte])

    def kept(self, ids: NDArray[np.uint32], skip_special: bool) -> NDArray[np.uint32]:
        """Leave control pieces out if they are special; UnknownId if there is no such id."""
        if len(ids) and int(ids.max()) >= self.size:
            raise unknown(int(ids.max()), self.size)
        return ids[~np.isin(ids, self.rules.control_ids)] if skip_special else ids

    @cached_property
    def texts(self) -> Sequence[str | None]:
        """The pieces as the file has them."""
        return self._read_texts()

    @cached_property
    def byte_of(self) -> dict[int, int]:
        """The byte of each id."""
        return {token_id: byte for byte, token_id in enumerate(self.rules.byte_ids or ())}

    @cached_property
    def written(self) -> NDArray[Any]:
        """What an id writes after others, if it is not a byte."""
        texts = [(text or "").replace(_MARKER, " ") for text in self.texts]
        for token_id in self.rules.control_ids:
            texts[token_id] = ""
        texts[self.rules.unk_id] = self.rules.unk_surface
        return _objects(texts)

    def _joined(self, ids: NDArray[np.uint32]) -> str | None:
        """Join by a table; None if a run of bytes is not text, or might not be."""
        table, flags = self._escaped
        found = int(np.bitwise_or.reduce(flags[ids])) if len(ids) else 0
        if found & _HIGH_BYTE and found & _EMPTY:  # what writes nothing ends a run all the same
            return None
        text = "".join(table[ids])
        if not found & _HIGH_BYTE:
            return text
        try:
            # All other pieces are whole characters: it is UTF-8 if and only if every run is.
            return text.encode("utf-8", "surrogateescape").decode()
        except UnicodeDecodeError:
            return None

    @cached_property
    def _escaped(self) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        table = self.written.copy()
        flags = np.array([0 if text else _EMPTY for text in table], dtype=np.uint8)
        for token_id, byte in self.byte_of.items():
            is_high = byte >= _ASCII_END
            table[token_id] = chr(_ESCAPE + byte if is_high else byte)
            flags[token_id] = _HIGH_BYTE if is_high else _BYTE
        return table, flags


class PieceRun:
    """One decoding, an id at a time."""

    def __init__(self, decoder: PieceDecoder) -> None:
        self._decoder = decoder
        self._bytes = b""
        self._strips = decoder.rules.strip != "none"
        self.has_written = False

    @property
    def holds_bytes(self) -> bool:
        """Whether the next id may change what the last one writes."""
        return bool(self._bytes)

    def push(self, token_id: int) -> str:
        """Take the next id; return what is certain now."""
        byte = self._decoder.byte_of.get(token_id)
        if byte is not None:
            self.has_written = True
            self._bytes += bytes([byte])
            return self._take_bytes(final=False)
        before = self._take_bytes(final=True)
        written: str = self._decoder.written[token_id]
        if self._strips and not self.has_written and self._begins_with_marker(token_id):
            written = written[1:]
            self._strips = self._decoder.rules.strip == "all"
        self.has_written |= bool(written)
        return before + written

    def push_many(self, ids: NDArray[np.uint32]) -> str:
        """Take the next ids."""
        return "".join([self.push(token_id) for token_id in ids.tolist()])

    def finish(self) -> str:
        """Return what was held back."""
        return self._take_bytes(final=True)

    def _begins_with_marker(self, token_id: int) -> bool:
        rules = self._decoder.rules
        if token_id == rules.unk_id or token_id in rules.control_ids:
            return False
        return (self._decoder.texts[token_id] or "").startswith(_MARKER)

    def _take_bytes(self, *, final: bool) -> str:
        """Decode what is complete, with U+FFFD for each single byte that is wrong."""
        text = ""
        while self._bytes:
            try:
                text += self._bytes.decode()
                self._bytes = b""
            except UnicodeDecodeError as error:
                text += self._bytes[: error.start].decode()
                self._bytes = self._bytes[error.start :]
                if error.reason == "unexpected end of data" and not final:
                    return text
                text += "\ufffd"
                self._bytes = self._bytes[1:]
        return text


class PieceStream:
    """One decoding in pieces."""

    def __init__(self, decoder: PieceDecoder, skip_special: bool, clean_up: bool) -> None:
        self._decoder = decoder
        self._skipped = frozenset(decoder.rules.control_ids if skip_special else ())
        self._skip_special = skip_special
        self._run = PieceRun(decoder)
        self._steps = [ReplaceInText(*pair) for pair in TEXT_CLEAN_UP] if clean_up else []

    def push(self, token_id: int) -> str:
        """Take one id."""
        if not 0 <= token_id < self._decoder.size:
            raise unknown(token_id, self._decoder.size)
        return "" if token_id in self._skipped else self._through(self._run.push(token_id))

    def push_many(self, ids: NDArray[np.uint32]) -> str:
        """Take many ids."""
        return self._through(self._run.push_many(self._decoder.kept(ids, self._skip_special)))

    def finish(self) -> str:
        """Return what was held back."""
        text = self._run.finish()
        for step in self._steps:
            text = step.feed(text) + step.finish()
        return text

    def _through(self, text: str) -> str:
        for step in self._steps:
            text = step.feed(text)
        return text


def _objects(entries: list[str]) -> NDArray[Any]:
    """Make a row of Python objects, which numpy would otherwise pad to the longest text."""
    table = np.empty(len(entries), dtype=object)
    table[:] = entries
    return table
