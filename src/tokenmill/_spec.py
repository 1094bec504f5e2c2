"""What a tokenizer is, as plain data.

A `TokenizerSpec` says in which order a text goes through which steps:

1. the added tokens with ``normalized=False`` are cut out of the raw text;
2. each remaining range is normalized by `normalizer`, step after step;
3. the added tokens with ``normalized=True`` (their content normalized the same way) are cut out;
4. with `add_prefix_space`, each remaining range that does not begin with " " gets one;
5. `split` cuts each range into words, each step working on the words of the one before;
6. `model` turns each word into ids;
7. `prefix_ids` and `suffix_ids` are put around the whole.

Nothing here computes: the loaders fill it in, the compiler reads it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Dialect = Literal["onig", "fancy"]
Behavior = Literal["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
Reference = Literal["tokenizers", "tiktoken"]
NormalizerKind = Literal[
    "nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "strip", "replace", "prepend"
]
# What `BpeModel.ranks` holds for an id that no merge can make.
NO_RANK = 0xFFFF_FFFF


@dataclass(frozen=True)
class AddedToken:
    """A token that is found in the text itself, before the model sees it.

    `normalized`: its content is normalized and looked for in the normalized text.
    `lstrip`, `rstrip`: it takes the white space on that side with it.
    `single_word`: it counts only where no word character touches it.
    """

    content: str
    id: int
    special: bool
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


@dataclass(frozen=True)
class SplitStep:
    r"""One cut of every word into smaller ones.

    `dialect` names the engine whose reading of `pattern` counts: "onig" (Oniguruma, Ruby syntax)
    or "fancy" (Rust's regex with look-around).  ``\p{hf:Numeric}`` and ``\p{hf:Punctuation}``
    stand for the character sets of the Digits and Punctuation pre-tokenizers.
    `invert` swaps matches and gaps before `behavior` is applied.
    `on_bytes`: the step comes after the byte-level mapping, so the pattern sees one stand-in
    character for every byte of the word.
    """

    pattern: str
    dialect: Dialect
    behavior: Behavior
    invert: bool
    on_bytes: bool = False


@dataclass(frozen=True)
class NormalizerStep:
    """One rewrite of the text; "replace" turns `a` into `b`, "prepend" puts `a` in front.

    "strip" removes white space on the sides named by `left` and `right`.
    """

    kind: NormalizerKind
    a: str = ""
    b: str = ""
    left: bool = False
    right: bool = False


@dataclass(frozen=True, eq=False)
class BpeModel:
    """Byte-pair encoding over bytes.

    `tokens[id]`: the bytes the token stands for in text; None for a hole and for an entry that no
    byte sequence can produce.
    `decode_bytes[id]`: what decoding writes for that id, added tokens included; None for a hole.
    Its length is the vocabulary size.
    `merges`: pairs of ids, best first; the merged token is the one with the joined bytes.
    `ranks`: instead of merges, the priority of every token; a pair may merge when its joined bytes
    are a token, the lowest rank first.  Exactly one of `merges` and `ranks` is given.
    `ignore_merges`: a word that is itself a token becomes that token, whatever the merges say.
    """

    tokens: tuple[bytes | None, ...]
    decode_bytes: tuple[bytes | None, ...]
    merges: NDArray[np.uint32] | None
    ranks: NDArray[np.uint32] | None
    ignore_merges: bool


@dataclass(frozen=True)
class OpaqueModel:
    """A model that only its reference library can run; `size` counts its ids."""

    size: int


@dataclass(frozen=True, eq=False)
class TokenizerSpec:
    """A whole tokenizer. Two specs with the same `content_hash` give the same ids.

    `unsupported`: why the native engine cannot encode with it; then the reference library must.
    `unsupported_decode`: the same for decoding.
    `notes`: what was in the source and is deliberately left out of the spec.
    `source`: the text of the tokenizer.json it came from, for the reference library.
    """

    name: str
    kind: str
    model: BpeModel | OpaqueModel
    added_tokens: tuple[AddedToken, ...] = ()
    normalizer: tuple[NormalizerStep, ...] = ()
    split: tuple[SplitStep, ...] = ()
    add_prefix_space: bool = False
    prefix_ids: tuple[int, ...] = ()
    suffix_ids: tuple[int, ...] = ()
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
        return max([self.model.size, *(token.id + 1 for token in self.added_tokens)])

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
        if isinstance(self.model, OpaqueModel):
            yield self.source or b""
            return
        yield repr(self.model.ignore_merges).encode()
        yield from _table_parts(self.model.tokens)
        yield from _table_parts(self.model.decode_bytes)
        for array in (self.model.merges, self.model.ranks):
            yield b"" if array is None else np.ascontiguousarray(array, "<u4").tobytes()
        # A spec that only the reference library can run is only as good as its source.
        yield (self.source or b"") if self.unsupported or self.unsupported_decode else b""


def _table_parts(table: tuple[bytes | None, ...]) -> Iterable[bytes]:
    lengths = [-1 if entry is None else len(entry) for entry in table]
    yield np.array(lengths, dtype="<i4").tobytes()
    yield b"".join([entry for entry in table if entry is not None])
