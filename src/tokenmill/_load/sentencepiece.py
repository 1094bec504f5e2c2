"""SentencePiece `.model` files -> TokenizerSpec, as `sentencepiece` understands them.

Control pieces never occur in a text, so they are not added tokens. Nothing is put around a text.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from tokenmill._load.charsmap import check_charsmap
from tokenmill._load.sentencepiece_file import (
    BPE,
    BYTE,
    BYTE_PIECES,
    CHAR,
    CONTROL,
    FROM_TEXT,
    NORMAL,
    UNIGRAM,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    WORD,
    SentencePieceFile,
    read_model_file,
)
from tokenmill._spec import (
    NO_RANK,
    AddedToken,
    BpeModel,
    SentencePieceDecoder,
    SentencePieceNormalizer,
    SplitStep,
    TokenizerSpec,
    UnigramModel,
    WordLevelModel,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_Model: TypeAlias = "tuple[UnigramModel | BpeModel | WordLevelModel, list[str]]"
SPACE = "\u2581"
_KINDS = {UNIGRAM: "unigram", BPE: "bpe", WORD: "wordlevel", CHAR: "bpe"}
# The library tries at most this many user-defined pieces that begin with each other.
_MOST_NESTED = 64


def read_sentencepiece(data: bytes, name: str) -> TokenizerSpec:
    """Read a file."""
    file = read_model_file(data)
    texts = tuple(piece.decode() for piece in file.pieces)
    protected = tuple(texts[i] for i in _of_type(file, USER_DEFINED))
    reasons = [*_nested_reasons(protected), *_charsmap_reasons(file)]
    model, more_reasons = _MODELS[file.model_type](file)
    return TokenizerSpec(
        name=name,
        kind=_KINDS[file.model_type],
        model=model,
        added_tokens=_added_tokens(file, texts),
        split=_split(file),
        texts=texts,
        sentencepiece=SentencePieceNormalizer(
            charsmap=file.charsmap,
            protected=protected,
            add_dummy_prefix=file.add_dummy_prefix,
            remove_extra_whitespaces=file.remove_extra_whitespaces,
            escape_whitespaces=file.escape_whitespaces,
            whitespace_as_suffix=file.whitespace_as_suffix,
        ),
        sentencepiece_decoder=_decoder(file),
        reference="sentencepiece",
        unsupported=(*reasons, *more_reasons),
        unsupported_decode=_decode_reasons(file),
        source=data,
    )


def _of_type(file: SentencePieceFile, *kinds: int) -> list[int]:
    return [i for i, kind in enumerate(file.types) if kind in kinds]


def _byte_ids(file: SentencePieceFile) -> tuple[int, ...] | None:
    if not file.byte_fallback:
        return None
    ids = {BYTE_PIECES[file.pieces[i]]: i for i in _of_type(file, BYTE)}
    return tuple(ids[byte] for byte in range(256))


def _added_tokens(file: SentencePieceFile, texts: Sequence[str]) -> tuple[AddedToken, ...]:
    """List the user-defined pieces if they are cut out; Unigram scores them instead."""
    if file.model_type not in (BPE, CHAR):
        return ()
    ids = _of_type(file, USER_DEFINED)
    return tuple(AddedToken(texts[i], i, special=False, normalized=True) for i in ids)


def _split(file: SentencePieceFile) -> tuple[SplitStep, ...]:
    if file.model_type != WORD:
        return ()
    return (SplitStep(SPACE, "onig", "merged_with_next", invert=False),)


def _decoder(file: SentencePieceFile) -> SentencePieceDecoder:
    strip: Literal["none", "first", "all"] = "first" if file.add_dummy_prefix else "none"
    if file.remove_extra_whitespaces:
        strip = "all"
    return SentencePieceDecoder(
        control_ids=tuple(_of_type(file, CONTROL)),
        unk_id=file.types.index(UNKNOWN),
        unk_surface=file.unk_surface.decode(),
        byte_ids=_byte_ids(file),
        strip=strip,
    )


def _unigram(file: SentencePieceFile) -> tuple[UnigramModel, list[str]]:
    in_text = set(_of_type(file, NORMAL, USER_DEFINED))
    scores = np.array(file.scores, dtype=np.float64)
    normal = scores[_of_type(file, NORMAL)]
    least = float(normal.min()) if len(normal) else math.inf
    # Pieces that no text can hold must not set the minimum.
    scores[[i for i in range(len(scores)) if i not in in_text]] = least
    for index in _of_type(file, USER_DEFINED):
        # A bonus instead of the score in the file, so the longest of them wins nearly always.
        scores[index] = np.float32(0.1 * (len(file.pieces[index]) - 1))
    model = UnigramModel(
        tokens=tuple(piece if i in in_text else None for i, piece in enumerate(file.pieces)),
        scores=scores,
        unk_id=file.types.index(UNKNOWN),
        byte_ids=_byte_ids(file),
        whole_text=True,
    )
    if least > scores.min() or not len(normal):
        return model, ["a user-defined piece has the least score"]
    return model, []


def _bpe(file: SentencePieceFile) -> tuple[BpeModel, list[str]]:
    characters = [len(piece.decode()) == 1 for piece in file.pieces]
    # A single character is looked up among all pieces, whatever their type.
    alone = [i for i in _of_type(file, NORMAL, UNUSED, CONTROL) if characters[i]]
    joined = [i for i in _of_type(file, NORMAL, UNUSED) if not characters[i]]
    if file.model_type == CHAR:
        joined = []
    ranks = np.full(len(file.pieces), NO_RANK, dtype=np.uint32)
    ranks[joined] = _ranks([file.scores[i] for i in joined])
    tokens: list[bytes | None] = [None] * len(file.pieces)
    for index in (*alone, *joined):
        tokens[index] = file.pieces[index]
    model = BpeModel(
        tokens=tuple(tokens),
        decode_bytes=_decode_bytes(file),
        merges=None,
        ranks=ranks,
        ignore_merges=False,
        symbols="characters",
        byte_ids=_byte_ids(file),
        unk_id=file.types.index(UNKNOWN),
        fuse_unk=not file.byte_fallback,
    )
    return model, _bpe_reasons(file, alone, joined)


def _ranks(scores: Sequence[float]) -> NDArray[np.uint32]:
    """Rank the highest score first; equal ones, which are the same bits, have the same rank."""
    bits = np.array(scores, dtype=np.float32).view(np.int32).astype(np.int64)
    # As integers in the order of the scores: the library distinguishes -0.0 from 0.0.
    ordered = np.where(bits < 0, -(bits & 0x7FFF_FFFF) - 1, bits)
    _, ranks = np.unique(-ordered, return_inverse=True)
    return ranks.astype(np.uint32)


def _bpe_reasons(file: SentencePieceFile, alone: Sequence[int], joined: Sequence[int]) -> list[str]:
    reasons = []
    unused = [i for i in joined if file.types[i] == UNUSED]
    if unused:
        reasons.append(f"{len(unused)} unused pieces are taken apart again after merging")
    scores = [file.scores[i] for i in joined]
    if not all(math.isfinite(score) for score in scores):
        reasons.append("a score that is not finite")
    known = {file.pieces[i].decode() for i in (*alone, *_of_type(file, USER_DEFINED))}
    lone = {c for i in joined for c in file.pieces[i].decode()} - known
    if lone:
        problem = f"{len(lone)} characters are in longer pieces only"
        reasons.append(f"{problem}, the first is U+{ord(min(lone)):04X}")
    return reasons


def _decode_bytes(file: SentencePieceFile) -> tuple[bytes, ...]:
    """Return the text of each id, before anything is stripped."""
    table = [piece.replace(SPACE.encode(), b" ") for piece in file.pieces]
    for index, kind in enumerate(file.types):
        if kind == CONTROL:
            table[index] = b""
        elif kind == UNKNOWN:
            table[index] = file.unk_surface
        elif kind == BYTE:
            table[index] = bytes([BYTE_PIECES[file.pieces[index]]])
    return tuple(table)


def _word(file: SentencePieceFile) -> tuple[WordLevelModel, list[str]]:
    # Reserved pieces win over those of the same text.
    ids = {file.pieces[i]: i for i in _of_type(file, *FROM_TEXT)}
    ids |= {file.pieces[i]: i for i in _of_type(file, CONTROL, BYTE)}
    tokens: list[bytes | None] = [None] * len(file.pieces)
    for piece, index in ids.items():
        tokens[index] = piece
    model = WordLevelModel(tokens=tuple(tokens), unk_id=file.types.index(UNKNOWN))
    how = "become bytes" if file.byte_fallback else "in a row are one"
    return model, [f"unknown words {how}"]


_MODELS: dict[int, Callable[[SentencePieceFile], _Model]] = {
    UNIGRAM: _unigram,
    BPE: _bpe,
    WORD: _word,
    CHAR: _bpe,
}


def _charsmap_reasons(file: SentencePieceFile) -> list[str]:
    return check_charsmap(file.charsmap, file.charsmap_offset) if file.charsmap else []


def _nested_reasons(protected: Sequence[str]) -> list[str]:
    """Report user-defined pieces of which the library would not try the longest."""
    open_texts: list[str] = []
    deepest = 0
    for text in sorted(protected):
        while open_texts and not text.startswith(open_texts[-1]):
            open_texts.pop()
        open_texts.append(text)
        deepest = max(deepest, len(open_texts))
    if deepest <= _MOST_NESTED:
        return []
    return [f"{deepest} user-defined pieces begin with each other"]


def _decode_reasons(file: SentencePieceFile) -> tuple[str, ...]:
    reasons = []
    if file.denormalizer_charsmap:
        reasons.append("a denormalizer")
    if b"\0" in file.unk_surface:
        reasons.append("a zero byte in the text of the unknown piece")
    return tuple(reasons)
