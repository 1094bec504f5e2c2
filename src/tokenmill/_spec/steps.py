"""The steps of a tokenizer before and after its model, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Dialect = Literal["onig", "fancy"]
Behavior = Literal["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
PrependScheme = Literal["always", "first", "never"]
NormalizerKind = Literal[
    "nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "strip", "replace", "prepend",
    "clean", "space_ideographs", "strip_nonspacing", "nmt", "byte_level", "precompiled",
    "replace_regex", "squeeze",
]  # fmt: skip
DecoderKind = Literal[
    "byte_level", "byte_fallback", "fuse", "strip", "replace", "replace_regex", "metaspace",
    "wordpiece", "bpe", "ctc",
]  # fmt: skip


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
