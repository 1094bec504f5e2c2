"""The models of tokenizers: how a word becomes ids, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What `BpeModel.ranks` holds for an id that no merge can make.
NO_RANK = 0xFFFF_FFFF


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
