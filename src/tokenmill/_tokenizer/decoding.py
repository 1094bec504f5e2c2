"""Ids -> text: the calls of `Tokenizer` that decode."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tokenmill._calls.options import ids_of, rows_of
from tokenmill._decode import (
    BytesDecoder,
    DecodeStream,
    DecodeStreams,
    clean_up_text,
    make_decoder,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._decode import Decoder
    from tokenmill._model.ready import Ready


class Decoding:
    """A decoder, and what the calls do before and after it."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready

    @cached_property
    def decoder(self) -> Decoder:
        """Made at its first use: a stream can be made without one."""
        return make_decoder(self._ready)

    def decode(self, ids: ArrayLike, skip_special: bool, clean_up: bool, errors: str) -> str:
        """Return the text of one row of ids."""
        decoder = self.decoder
        if isinstance(decoder, BytesDecoder):
            text = decoder.decode(ids_of(ids), skip_special, errors)
        else:
            text = decoder.decode(ids_of(ids), skip_special)
        return clean_up_text(text) if clean_up else text

    def decode_bytes(self, ids: ArrayLike, skip_special: bool) -> bytes:
        """Return the bytes of one row of ids."""
        return self.decoder.decode_bytes(ids_of(ids), skip_special)

    def decode_batch(
        self,
        batch: TokenBatch | Iterable[ArrayLike],
        skip_special: bool,
        clean_up: bool,
        errors: str,
    ) -> list[str]:
        """Return the text of each row of ids."""
        ids, offsets = rows_of(batch)
        decoder = self.decoder
        if isinstance(decoder, BytesDecoder) and not skip_special:
            rows = decoder.model.decode_batch(ids, offsets)
            texts = [row.decode("utf-8", errors) for row in rows]
            return list(map(clean_up_text, texts)) if clean_up else texts
        return [
            self.decode(ids[begin:end], skip_special, clean_up, errors)
            for begin, end in pairwise(offsets.tolist())
        ]

    def stream(self, skip_special: bool, clean_up: bool) -> DecodeStream:
        """Return a stream that turns ids into text as they come."""
        return DecodeStream(lambda: self.decoder.stream(skip_special, clean_up))

    def streams(self, n: int, skip_special: bool, clean_up: bool) -> DecodeStreams:
        """Return `n` streams that take an id each in one call."""
        return DecodeStreams(lambda: self.decoder.stream(skip_special, clean_up), n)
