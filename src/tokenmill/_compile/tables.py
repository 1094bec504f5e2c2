"""Models -> the arrays that the core compiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._compile.definition import VocabTables
from tokenmill._compile.word_ends import spell_ends, suffix_reasons
from tokenmill._spec import (
    BpeModel,
    LongestMatchModel,
    OpaqueModel,
    UnigramModel,
    WordLevelModel,
    WordPieceModel,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._compile.blanks import Spelled
    from tokenmill._spec import Model


def model_reasons(spelled: Spelled) -> list[str]:
    """List why the engine cannot be exact with a model."""
    model = spelled.spec.model
    if isinstance(model, BpeModel):
        return _bpe_reasons(model, is_split=bool(spelled.spec.split) or spelled.words_at_blanks)
    if isinstance(model, UnigramModel):
        return [] if model.unk_id is not None else ["Unigram without an unknown token"]
    if isinstance(model, WordLevelModel) and model.unk_id is None:
        return ["WordLevel without an unknown token"]
    return ["the longest match over bytes"] if isinstance(model, LongestMatchModel) else []


def _bpe_reasons(model: BpeModel, *, is_split: bool) -> list[str]:
    reasons = suffix_reasons(model, is_split=is_split) if model.suffix else []
    if model.symbols == "bytes":
        return reasons
    if not is_split and model.byte_ids is None and model.unk_id is None:
        reasons.append("BPE over whole texts that drops characters it does not know")
    if not is_split and model.ignore_merges:
        reasons.append("BPE over whole texts that ignores merges")
    # A token for unknown characters must not merge: it is not found in any text.
    stand_ins = model.byte_ids or (() if model.unk_id is None else (model.unk_id,))
    merges = np.empty(0, dtype=np.uint32) if model.merges is None else model.merges
    if np.isin(merges, np.array(stand_ins, dtype=np.uint32)).any():
        reasons.append("merges of the tokens for unknown characters")
    return reasons


def vocab_tables(model: Model, decoded: Sequence[bytes | None], *, drop_white: bool) -> VocabTables:
    """Describe a model to the core; `decoded` holds the bytes that ids decode to."""
    assert not isinstance(model, OpaqueModel)  # noqa: S101
    size = max(len(decoded), len(model.tokens))
    known = spell_ends(model) if isinstance(model, BpeModel) and model.suffix else model.tokens
    tokens = [*known, *[None] * (size - len(known))]
    token_bytes, token_offsets = _joined(tokens)
    decode_bytes, decode_offsets = _joined([*decoded, *[None] * (size - len(decoded))])
    base = VocabTables(
        kind="wordlevel",
        token_bytes=token_bytes,
        token_offsets=token_offsets,
        matchable=np.array([token is not None for token in tokens], dtype=np.uint8),
        decode_bytes=decode_bytes,
        decode_offsets=decode_offsets,
        unk_id=getattr(model, "unk_id", None),
        drop_white=drop_white,
    )
    return _with_details(base, model, size)


def _with_details(base: VocabTables, model: Model, size: int) -> VocabTables:
    """Add the fields that only some kinds of models have."""
    if isinstance(model, BpeModel):
        return replace(
            base,
            kind=model.symbols,
            merges=_contiguous(model.merges),
            ranks=None if model.ranks is None else _padded(model.ranks, size),
            ignore_merges=model.ignore_merges,
            byte_ids=_byte_ids(model),
            fuse_unk=model.fuse_unk,
            has_ends=bool(model.suffix),
        )
    if isinstance(model, WordPieceModel):
        return replace(
            base, kind="wordpiece", prefix=model.prefix, max_characters=model.max_characters
        )
    if isinstance(model, UnigramModel):
        # Ids beyond the model have no score; none of theirs may be the least.
        scores = np.full(size, model.scores.max(initial=0.0), dtype=np.float64)
        scores[: len(model.scores)] = model.scores
        return replace(
            base,
            kind="unigram",
            scores=scores,
            whole_text=model.whole_text,
            byte_ids=_byte_ids(model),
        )
    return base


def _byte_ids(model: BpeModel | UnigramModel) -> NDArray[np.uint32] | None:
    return None if model.byte_ids is None else np.array(model.byte_ids, dtype=np.uint32)


def _joined(table: Sequence[bytes | None]) -> tuple[bytes, NDArray[np.uint64]]:
    entries = [entry or b"" for entry in table]
    offsets = np.zeros(len(entries) + 1, dtype=np.uint64)
    np.cumsum([len(entry) for entry in entries], out=offsets[1:])
    return b"".join(entries), offsets


def _contiguous(array: NDArray[np.uint32] | None) -> NDArray[np.uint32] | None:
    return None if array is None else np.ascontiguousarray(array, dtype=np.uint32)


def _padded(ranks: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    """Give every id a rank; those beyond the model have none that could merge."""
    padded = np.full(size, np.iinfo(np.uint32).max, dtype=np.uint32)
    padded[: len(ranks)] = ranks
    return padded
