"""What a tokenizer is, as plain data.

A `TokenizerSpec` lists the steps that a text goes through:

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
PrependScheme = Literal["always", "first", "never"]
Reference = Literal["tokenizers", "tiktoken", "sentencepiece", "python"]
NormalizerKind = Literal[
    "nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "strip", "replace", "prepend",
    "clean", "space_ideographs", "strip_nonspacing", "nmt", "byte_level", "precompiled",
    "replace_regex", "squeeze",
]  # fmt: skip
DecoderKind = Literal[
    "byte_level", "byte_fallback", "fuse", "strip", "replace", "replace_regex", "metaspace",
    "wordpiece", "bpe", "ctc",
]  # fmt: skip
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

    "replace_regex": `a` is a pattern in the dialect "onig". "strip" removes white space on the
    sides named by `left` and `right`. "clean" removes controls and makes white space blanks,
    "space_ideographs" puts blanks around ideographs, "strip_nonspacing" removes marks of category
    Mn: with "nfd" and "lowercase" the parts of BertNormalizer. "precompiled": `a` is the map of
    characters in base64, as in tokenizer.json. "squeeze" puts one blank before every word and
    drops all other white space; no file asks for it.
    """

    kind: NormalizerKind
    a: str = ""
    b: str = ""
    left: bool = False
    right: bool = False


@dataclass(frozen=True)
class Metaspace:
    """The pre-tokenizer that writes `replacement` for blanks.

    It works on the words that the first `after` steps of the split have made: " " becomes
    `replacement`; one is put in front unless there is one already, of every word ("always"), of
    the one at the beginning of the text ("first") or of none ("never"); with `split`, each
    `replacement` then begins a new word.
    """

    replacement: str
    prepend: PrependScheme
    split: bool
    after: int = 0


@dataclass(frozen=True)
class SentencePieceNormalizer:
    """All steps from a text to what a SentencePiece model sees; no other normalizer runs.

    From left to right, at each place: the longest of the `protected` texts stays as it is; else
    the longest key of `charsmap` gives its value; else the character itself. All that follows is
    about the blanks (U+0020) in the outcomes, from `protected` too, never about other white space:

    1. With `remove_extra_whitespaces`, outcomes that are exactly " " are dropped as long as there
       is nothing else before them. If nothing is left of the text, the result is empty.
    2. With `add_dummy_prefix` and not `whitespace_as_suffix`, a blank is put in front.
    3. With `remove_extra_whitespaces`, blanks at the beginning of an outcome are dropped if the
       last outcome that was not empty then ended with a blank, or if there was none yet. (The one
       put in front by 2 is not an outcome.)
    4. With `escape_whitespaces`, each blank becomes U+2581, the one of 2 too.
    5. With `remove_extra_whitespaces`, all blanks at the end (U+2581 if 4 is on, whether it was a
       blank or not) are dropped, the one of 2 too.
    6. With `add_dummy_prefix` and `whitespace_as_suffix`, a blank (or U+2581) is put at the end.

    An empty text stays empty. `charsmap` is the compiled table of the file, empty where there is
    none: the size of a double-array trie (little-endian uint32), the trie, and the values, each
    ended by a zero byte; a key's number is where its value begins. Its bounds have been checked.
    """

    charsmap: bytes = field(default=b"", repr=False)
    protected: tuple[str, ...] = ()
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    whitespace_as_suffix: bool = False


@dataclass(frozen=True)
class SentencePieceDecoder:
    """Decoding as in `sentencepiece`, from the pieces in `TokenizerSpec.texts`.

    A run of ids out of `byte_ids` (the id of each byte) is its bytes, with U+FFFD for each byte
    that is not part of a well-formed character. Of the others, `control_ids` write nothing,
    `unk_id` writes `unk_surface`, and a piece writes itself with blanks for U+2581.
    `strip`: one U+2581 at the beginning of a piece is dropped while nothing has been written;
    "first" does so for no further piece once it has been done, "all" for every one.
    """

    control_ids: tuple[int, ...]
    unk_id: int
    unk_surface: str
    byte_ids: tuple[int, ...] | None
    strip: Literal["none", "first", "all"]


@dataclass(frozen=True)
class DecoderStep:
    """One step from the texts of tokens to the decoded text.

    "byte_level" (stand-in characters to bytes), "byte_fallback" ("<0x41>" to the byte), "fuse" (all
    texts to one), "strip" (`a` off each text, at most `left` times in front, `right` at the end),
    "replace" (`a` by `b`; "replace_regex": `a` is a pattern), "metaspace" (`a` to blanks, the first
    one dropped if `flag`), "wordpiece" (`a` is the prefix that continues; `flag`: clean up), "bpe"
    (`a` is the suffix that ends a word), "ctc" (`a` is the pad token, `b` the word delimiter,
    `flag`: clean up).
    """

    kind: DecoderKind
    a: str = ""
    b: str = ""
    left: int = 0
    right: int = 0
    flag: bool = False


@dataclass(frozen=True)
class TemplatePart:
    """A part of what goes to a model: the text A or B, or else fixed ids.

    `overflow_type_id`: the type of the windows of a text after its first, which need not be the
    same.
    """

    text: Literal["", "A", "B"] = ""
    ids: tuple[int, ...] = ()
    type_id: int = 0
    overflow_type_id: int = 0


@dataclass(frozen=True, eq=False)
class BpeModel:
    """Byte-pair encoding over bytes.

    `tokens[id]`: the bytes the token stands for in text; None for a hole and for an entry that no
    byte sequence can produce.
    `decode_bytes[id]`: what decoding writes for that id, added tokens included; None for a hole.
    Its length is the vocabulary size.
    `merges`: pairs of ids, best first; the merged token is the one with the joined bytes.
    `ranks`: instead of merges, the priority of every token; a pair may merge when its joined bytes
    are a token, the lowest rank first, of equal ranks (tokens may share one) the leftmost pair.
    Exactly one of `merges` and `ranks` is given.
    `ignore_merges`: a word that is itself a token becomes that token, whatever the merges say.

    `symbols`: what merging starts from. Under "characters", `tokens` hold UTF-8, and a character
    that is not a token becomes the ids in `byte_ids` of its bytes, else `unk_id`, else nothing;
    with `fuse_unk`, neighbouring unknown characters are one unknown.
    `suffix` is written after the last symbol of every word, as in "</w>".
    """

    tokens: tuple[bytes | None, ...]
    decode_bytes: tuple[bytes | None, ...]
    merges: NDArray[np.uint32] | None
    ranks: NDArray[np.uint32] | None
    ignore_merges: bool
    symbols: Literal["bytes", "characters"] = "bytes"
    byte_ids: tuple[int, ...] | None = None
    unk_id: int | None = None
    fuse_unk: bool = False
    suffix: bytes = b""


@dataclass(frozen=True, eq=False)
class WordPieceModel:
    """The longest token first, then the longest that continues, and so on.

    `tokens[id]`: UTF-8 of the token as the vocabulary writes it, None for a hole; those that
    begin with `prefix` continue a word. A word that has more than `max_characters` characters, or
    that cannot be covered, is `unk_id`.
    """

    tokens: tuple[bytes | None, ...]
    unk_id: int
    prefix: bytes
    max_characters: int


@dataclass(frozen=True, eq=False)
class UnigramModel:
    """The segmentation with the greatest sum of scores.

    `tokens[id]`: UTF-8 of the piece, None for a piece that text cannot produce.
    `scores[id]`: its score. A character that no piece covers costs the least score less ten and
    becomes the ids in `byte_ids` of its bytes, else `unk_id`; neighbouring unknowns are one.
    `whole_text`: sums are float32 over the whole text, as `sentencepiece` has them, instead of
    float64 over each word, as `tokenizers` has them. Where the best sum up to a character is beyond
    100,000 (or below minus that), it is taken off all sums that are known by then.
    """

    tokens: tuple[bytes | None, ...]
    scores: NDArray[np.float64]
    unk_id: int | None
    byte_ids: tuple[int, ...] | None = None
    whole_text: bool = False


@dataclass(frozen=True, eq=False)
class WordLevelModel:
    """A word is a token, else `unk_id`, else nothing."""

    tokens: tuple[bytes | None, ...]
    unk_id: int | None


@dataclass(frozen=True, eq=False)
class LongestMatchModel:
    """At every place the longest token that the rest of the word begins with.

    `tokens[id]`: its bytes, None for a hole; every single byte is a token.
    """

    tokens: tuple[bytes | None, ...]


@dataclass(frozen=True)
class OpaqueModel:
    """A model that only its reference library can run; `size` counts its ids."""

    size: int


Model = BpeModel | WordPieceModel | UnigramModel | WordLevelModel | LongestMatchModel | OpaqueModel


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
