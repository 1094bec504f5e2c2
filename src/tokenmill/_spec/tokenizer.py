"""TokenizerSpec: a whole tokenizer, and the hash of everything that decides its ids."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokenmill._spec.models import BpeModel, Model, OpaqueModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._spec.steps import (
        AddedToken,
        DecoderStep,
        Metaspace,
        NormalizerStep,
        SentencePieceDecoder,
        SentencePieceNormalizer,
        SplitStep,
        TemplatePart,
    )

Reference = Literal["tokenizers", "tiktoken", "sentencepiece", "python"]


@dataclass(frozen=True, eq=False)
class TokenizerSpec:
    """A whole tokenizer. Two specs with the same `content_hash` give the same ids.

    `unsupported`: why the native engine cannot encode with it; then the reference library must.
    `unsupported_decode`: the same for decoding.
    `texts[id]`: the token as the vocabulary writes it, where `decoder` works on texts.
    `decoder`: the steps of decoding; None where the library puts a blank between texts.
    `sentencepiece`: instead of `normalizer`. The added tokens are then looked for after it, in what
    it gives, as they are, the longest first.
    `sentencepiece_decoder`: instead of `decoder`.
    `single`, `pair`: what is made of one text and of two; empty if the source leaves it open, and
    None if parts cannot express it.
    `trim_offsets`: for each pass that takes blanks off the offsets of tokens, whether it takes the
    blank in front of a text for one that was added.
    `notes`: what was in the source and is deliberately left out of the spec.
    `source`: the content of the file it came from, for the reference library.
    """

    name: str
    kind: str
    model: Model
    added_tokens: tuple[AddedToken, ...] = ()
    normalizer: tuple[NormalizerStep, ...] = ()
    split: tuple[SplitStep, ...] = ()
    add_prefix_space: bool = False
    prefix_ids: tuple[int, ...] = ()
    suffix_ids: tuple[int, ...] = ()
    metaspace: Metaspace | None = None
    texts: tuple[str | None, ...] = field(default=(), repr=False)
    decoder: tuple[DecoderStep, ...] | None = None
    sentencepiece: SentencePieceNormalizer | None = None
    sentencepiece_decoder: SentencePieceDecoder | None = None
    single: tuple[TemplatePart, ...] | None = ()
    pair: tuple[TemplatePart, ...] | None = ()
    trim_offsets: tuple[bool, ...] = ()
    reference: Reference = "tokenizers"
    unsupported: tuple[str, ...] = ()
    unsupported_decode: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: bytes | None = field(default=None, repr=False)

    @cached_property
    def vocab_size(self) -> int:
        """One more than the largest id, so that every id indexes a table of this length."""
        if isinstance(self.model, BpeModel):
            return len(self.model.decode_bytes)
        size = self.model.size if isinstance(self.model, OpaqueModel) else len(self.model.tokens)
        return max([size, *(token.id + 1 for token in self.added_tokens)])

    @cached_property
    def special_tokens(self) -> dict[str, int]:
        """Id of every special token by its content."""
        return {token.content: token.id for token in self.added_tokens if token.special}

    @cached_property
    def content_hash(self) -> str:
        """Hex digest over everything that decides about ids and decoded text."""
        digest = hashlib.blake2b(digest_size=20)
        for part in self._hashed_parts():
            # Length first: no two different lists of parts may join to the same bytes.
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        return digest.hexdigest()

    def _hashed_parts(self) -> Iterable[bytes]:
        yield b"tokenmill spec 1"
        plain = [
            (item.name, getattr(self, item.name))
            for item in fields(self)
            if item.name not in ("name", "notes", "model", "source")
        ]
        yield repr(plain).encode()
        yield self.sentencepiece.charsmap if self.sentencepiece else b""
        if isinstance(self.model, OpaqueModel):
            yield self.source or b""
            return
        yield type(self.model).__name__.encode()
        for item in fields(self.model):
            yield from _member_parts(getattr(self.model, item.name))
        # A spec that only the reference library can run is only as good as its source.
        yield (self.source or b"") if self.unsupported or self.unsupported_decode else b""


def _member_parts(value: object) -> Iterable[bytes]:
    if isinstance(value, np.ndarray):
        yield value.dtype.str.encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, tuple) and any(isinstance(entry, bytes) for entry in value):
        yield from _table_parts(value)
    else:
        yield repr(value).encode()


def _table_parts(table: tuple[bytes | None, ...]) -> Iterable[bytes]:
    lengths = [-1 if entry is None else len(entry) for entry in table]
    yield np.array(lengths, dtype="<i4").tobytes()
    yield b"".join([entry for entry in table if entry is not None])
