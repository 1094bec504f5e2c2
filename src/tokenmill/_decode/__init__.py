"""decode: ids -> text, by the chain of decoders that a tokenizer has.

`make_decoder` chooses one of four: the core's table of bytes, the texts of tokens through the
native steps, the pieces of a SentencePiece model, or the reference library for what none of them
can do exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokenmill._decode.clean import TEXT_CLEAN_UP, replace_all
from tokenmill._decode.data import BytesDecoder
from tokenmill._decode.stream import DecodeStream, DecodeStreams, Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._model.ready import Ready
    from tokenmill._reference.model import ReferenceModel

__all__ = [
    "BytesDecoder",
    "DecodeStream",
    "DecodeStreams",
    "Decoder",
    "clean_up_text",
    "make_decoder",
]


class Decoder(Protocol):
    """What turns ids into text."""

    def decode(self, ids: NDArray[np.uint32], skip_special: bool) -> str:
        """Decode one row."""

    def decode_bytes(self, ids: NDArray[np.uint32], skip_special: bool) -> bytes:
        """Decode one row to bytes."""

    def stream(self, skip_special: bool, clean_up: bool) -> Stream:
        """Begin a decoding in pieces."""

    def token_bytes(self, token_id: int) -> bytes:
        """Return what an id decodes to after others."""


def make_decoder(ready: Ready) -> Decoder:
    """Choose the decoder of a model."""
    decoding = ready.meta["decoding"]
    size = int(ready.model.vocab_size)
    if decoding["reasons"]:
        from tokenmill._decode.library import LibraryDecoder  # each kind when it is needed

        return LibraryDecoder(size, lambda: _reference_of(ready))
    if not decoding["on_texts"]:
        return BytesDecoder(ready.model, ready.meta["special_tokens"].values())
    from tokenmill._spec import DecoderStep, SentencePieceDecoder

    if decoding["pieces"] is not None:
        from tokenmill._decode.pieces import PieceDecoder

        rules = SentencePieceDecoder(**decoding["pieces"])
        return PieceDecoder(rules, size, lambda: _texts_of(ready, size))
    from tokenmill._decode.chain import plan_of
    from tokenmill._decode.text import TextDecoder

    steps = decoding["steps"]
    return TextDecoder(
        plan_of(None if steps is None else [DecoderStep(**step) for step in steps]),
        size,
        lambda: _texts_of(ready, size),
        frozenset(ready.meta["special_tokens"]),
    )


def clean_up_text(text: str) -> str:
    """Undo the blanks that tokenizers of words leave around punctuation, as in "do n't ."."""
    return replace_all(text, TEXT_CLEAN_UP)


def _texts_of(ready: Ready, size: int) -> Sequence[str | None]:
    """Return the texts by id: those of the spec, or those in the core's table."""
    if ready.spec is not None:
        return [*ready.spec.texts, *[None] * (size - len(ready.spec.texts))]
    numbers = np.arange(size + 1, dtype=np.int64)
    rows: list[bytes] = ready.model.decode_batch(numbers[:-1].astype(np.uint32), numbers)
    # A table of bytes cannot distinguish a hole from a token without text.
    empty = set(ready.meta["decoding"]["empty"])
    return [row.decode() if row or i in empty else None for i, row in enumerate(rows)]


def _reference_of(ready: Ready) -> ReferenceModel:
    from tokenmill._reference.model import ReferenceModel
    from tokenmill._spec import OpaqueModel, TokenizerSpec

    if isinstance(ready.model, ReferenceModel):
        return ready.model
    meta = ready.meta
    return ReferenceModel(
        TokenizerSpec(
            name=meta["name"],
            kind=meta["kind"],
            model=OpaqueModel(int(ready.model.vocab_size)),
            reference=meta["reference"],
            source=ready.source(),
        )
    )
