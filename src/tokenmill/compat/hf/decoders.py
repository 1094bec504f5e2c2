"""The surface of `tokenizers.decoders`; its `DecodeStream` also takes a `Tokenizer` of ours."""

from __future__ import annotations

from typing import Any

from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._tokenizer import library_tokenizer

_decoders = library("tokenizers").decoders

BPEDecoder = _decoders.BPEDecoder
ByteFallback = _decoders.ByteFallback
ByteLevel = _decoders.ByteLevel
CTC = _decoders.CTC
Decoder = _decoders.Decoder
_LibraryStream = _decoders.DecodeStream
Fuse = _decoders.Fuse
Metaspace = _decoders.Metaspace
Replace = _decoders.Replace
Sequence = _decoders.Sequence
Strip = _decoders.Strip
WordPiece = _decoders.WordPiece

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]


class DecodeStream:
    """A `tokenizers.decoders.DecodeStream`: ids go in one by one, text comes out.

    The library's stream does the work, so text and errors are the library's. If you do not need
    those, `tokenmill.Tokenizer.decode_stream` is faster and never fails on a prefix.
    """

    __slots__ = ("_stream",)

    def __init__(self, ids: Any = None, skip_special_tokens: Any = False) -> None:
        self._stream = _LibraryStream(ids, skip_special_tokens)

    @classmethod
    def _of(cls, stream: Any) -> DecodeStream:
        made = cls()
        made._stream = stream
        return made

    def step(self, tokenizer: Any, id: Any) -> str | None:  # noqa: A002 -- the library's name
        """Add an id or a list of ids; return the text that they complete, None if there is none."""
        text: str | None = self._stream.step(library_tokenizer(tokenizer), id)
        return text

    def __copy__(self) -> DecodeStream:
        return self._of(self._stream.__copy__())

    def __deepcopy__(self, _memo: object) -> DecodeStream:
        return self.__copy__()
