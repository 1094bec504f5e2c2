"""The definition of a tokenizer as `_core.compile_model` reads it: one object, every field typed.

The core reads the fields by name and checks them (bind/compile.cpp). Arrays are contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._spec import AddedToken

NO_LIMIT = 0xFFFF_FFFF


@dataclass(frozen=True, eq=False)
class VocabTables:
    """A model's tokens, by id, and what it does with them.

    `matchable`: 0 where no text can produce the token. Either `merges` (pairs in order of rank) or
    `ranks` (one for each token) belong to models that merge, `scores` to Unigram, `prefix` and
    `max_characters` to WordPiece. `byte_ids` or `unk_id` replace unknown characters.
    """

    kind: Literal["bytes", "characters", "wordpiece", "unigram", "wordlevel"]
    token_bytes: bytes
    token_offsets: NDArray[np.uint64]
    matchable: NDArray[np.uint8]
    decode_bytes: bytes
    decode_offsets: NDArray[np.uint64]
    merges: NDArray[np.uint32] | None = None
    ranks: NDArray[np.uint32] | None = None
    ignore_merges: bool = False
    byte_ids: NDArray[np.uint32] | None = None
    scores: NDArray[np.float64] | None = None
    unk_id: int | None = None
    fuse_unk: bool = False
    drop_white: bool = False
    whole_text: bool = False
    has_ends: bool = False
    prefix: bytes = b""
    max_characters: int = NO_LIMIT


@dataclass(frozen=True, eq=False)
class SplitStage:
    """One automaton of a split; `StageTables` describes the tables."""

    ranges: NDArray[np.uint32]
    n_classes: int
    next: NDArray[np.uint16]
    sync: NDArray[np.uint8]
    separates: NDArray[np.uint8]
    keep_match: bool
    keep_gap: bool
    on_bytes: bool


@dataclass(frozen=True, eq=False)
class SplitRule:
    """A split that the core knows by its parameters: those of `NativeRule`, or "adjacent".

    `classes`: rows (begin, end, class) of code points. "adjacent" starts a word where the classes
    of two neighbours are not joined: `joins[right]` has the bit of every `left` that is.
    """

    family: Literal["gpt2", "cl100k", "o200k", "adjacent"]
    classes: NDArray[np.uint32]
    contraction: Literal["none", "exact", "ignore_case"] = "none"
    digits: int = 0
    tail: Literal["", "crlf", "crlf_slash"] = ""
    end_run: bool = False
    isolate_digits: Literal["none", "each"] = "none"
    isolate_han: bool = False
    wide_classes: bool = False
    joins: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Definition:
    """A whole tokenizer.

    `normalizer` and `respelling` are serialized; `prefix_space` names the ranges of text that get
    a blank in front, `trim` the blanks that a token's offsets leave out. `whitespace_ranges`
    and `word_ranges` decide what added tokens strip and where they are single words.
    """

    vocab: VocabTables
    meta: bytes
    whitespace_ranges: NDArray[np.uint32]
    word_ranges: NDArray[np.uint32]
    prefix_ids: NDArray[np.uint32]
    suffix_ids: NDArray[np.uint32]
    stages: Sequence[SplitStage] = ()
    rule: SplitRule | None = None
    cut_by_tokens: bool = False
    added_tokens: Sequence[AddedToken] = field(default=())
    normalizer: bytes = b""
    respelling: bytes = b""
    prefix_space: Literal["never", "always", "first"] = "never"
    trim: Literal["never", "all", "keep_added"] = "never"
