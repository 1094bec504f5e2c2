"""A SentencePiece `.model` -> a tokenizer.json with the same ids, or the reason why not.

What both formats can say: BPE whose pieces have different scores (runs of blanks may share one, the
least), no map of characters, blanks kept as they are. Then the rules of both are the same:

    add_dummy_prefix, blanks   normalizer: Prepend "\u2581", Replace " " by "\u2581"
    pieces and scores          vocab, and the pair that each piece is merged of, best score first
    byte pieces                byte_fallback
    control pieces             in the vocab only: no text holds them

The file is read again, and compared on the text of every piece, before it is written.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tokenmill import _core
from tokenmill._compile import compile_spec
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._load.sentencepiece import SPACE, read_sentencepiece
from tokenmill._load.sentencepiece_file import (
    BPE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    SentencePieceFile,
    read_model_file,
)
from tokenmill._load.tokenizer_json import read_tokenizer_json
from tokenmill._model.merges import derive_merges
from tokenmill._model.run_merges import merges_of_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._spec import TemplatePart, TokenizerSpec

    Parts = Iterable[TemplatePart] | None

_ENCODE = False, 0, 0  # no special tokens, those in the text are encoded, strict
_HINT = "save it as a .model file"


def sentencepiece_as_json(source: bytes, name: str, single: Parts, pair: Parts) -> bytes:
    """Return the text of the tokenizer.json; UnsupportedTokenizer if it cannot be exact."""
    file = read_model_file(source)
    spec = read_sentencepiece(source, name)
    reasons = _reasons(file, spec)
    if reasons:
        raise UnsupportedTokenizer(
            f"no tokenizer.json has the rules of this SentencePiece model: {'; '.join(reasons)}",
            where=name,
            reasons=tuple(reasons),
            hint=_HINT,
        )
    texts = [piece.decode() for piece in file.pieces]
    definition = _definition(file, texts)
    definition["post_processor"] = _post_processor(texts, single, pair)
    text = json.dumps(definition, ensure_ascii=False, indent=1).encode()
    _check_same(spec, text, texts)
    return text


def _reasons(file: SentencePieceFile, spec: TokenizerSpec) -> list[str]:
    rules = {
        "only BPE models add up the same way in both": file.model_type != BPE,
        "its map of characters takes the longest key, and not clusters": bool(file.charsmap),
        "it has no byte pieces, and its unknown piece decodes to a text": not file.byte_fallback,
        "it removes extra blanks": file.remove_extra_whitespaces,
        "it does not escape blanks": not file.escape_whitespaces,
        "it puts blanks after words": file.whitespace_as_suffix,
        "it has user-defined pieces, which are cut out first": USER_DEFINED in file.types,
    }
    rules["pieces of equal score merge from left to right"] = _run_merges(file) is None
    return [reason for reason, applies in rules.items() if applies] + list(spec.unsupported)


def _joined(file: SentencePieceFile) -> list[int]:
    """Return the pieces that are made by merging."""
    kinds = (NORMAL, UNUSED)
    return [
        i for i, kind in enumerate(file.types) if kind in kinds and len(file.pieces[i].decode()) > 1
    ]


def _run_merges(file: SentencePieceFile) -> list[tuple[str, str]] | None:
    """Return the merges of pieces that share the least score; None if others share one too.

    No other piece may have one of them as a part: then they merge when all others have.
    """
    by_score = defaultdict(list)
    for index in _joined(file):
        by_score[file.scores[index]].append(file.pieces[index].decode())
    shared = [score for score, texts in by_score.items() if len(texts) > 1]
    if not shared:
        return []
    runs = by_score.pop(min(by_score))
    part = runs[0][0] * 2
    others = [text for texts in by_score.values() for text in texts]
    is_part = any(text.startswith(part) or text.endswith(part) for text in others)
    return None if len(shared) > 1 or len(runs) == 1 or is_part else merges_of_runs(runs)


def _definition(file: SentencePieceFile, texts: list[str]) -> dict[str, Any]:
    joined = sorted(_joined(file), key=lambda i: -file.scores[i])
    alone = (NORMAL, UNUSED, CONTROL)
    single = [t for t, kind in zip(texts, file.types, strict=True) if len(t) == 1 and kind in alone]
    runs = _run_merges(file) or []
    run_pieces = {a + b for a, b in runs}
    ranked = [texts[i] for i in joined if texts[i] not in run_pieces]
    merges = [*derive_merges([*single, *ranked]), *runs]
    steps: list[dict[str, Any]] = [_replace(" ", SPACE)]
    decoders: list[dict[str, Any]] = [_replace(SPACE, " "), {"type": "ByteFallback"}]
    decoders.append({"type": "Fuse"})
    if file.add_dummy_prefix:
        steps.insert(0, {"type": "Prepend", "prepend": SPACE})
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": texts[file.types.index(UNKNOWN)],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": {text: token_id for token_id, text in enumerate(texts)},
            "merges": [list(pair) for pair in merges],
        },
    }


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _post_processor(texts: list[str], single: Parts, pair: Parts) -> dict[str, Any] | None:
    """Write the special tokens around texts as a template; None if there are none."""
    if single is None or pair is None or not any(part.ids for part in (*single, *pair)):
        return None
    ids = {token_id for part in (*single, *pair) for token_id in part.ids}
    return {
        "type": "TemplateProcessing",
        "single": [piece for part in single for piece in _template(part, texts)],
        "pair": [piece for part in pair for piece in _template(part, texts)],
        "special_tokens": {
            texts[i]: {"id": texts[i], "ids": [i], "tokens": [texts[i]]} for i in sorted(ids)
        },
    }


def _template(part: TemplatePart, texts: list[str]) -> list[dict[str, Any]]:
    if part.text:
        return [{"Sequence": {"id": part.text, "type_id": part.type_id}}]
    return [{"SpecialToken": {"id": texts[i], "type_id": part.type_id}} for i in part.ids]


def _check_same(spec: TokenizerSpec, text: bytes, texts: list[str]) -> None:
    """Compare the ids of both on the text of every piece, alone and between others."""
    made = read_tokenizer_json(json.loads(text), text, spec.name)
    first, second = (_core.Model(compile_spec(one)) for one in (spec, made))
    words = [piece.replace(SPACE, " ") for piece in texts]
    pairs = (f"{a}{b} {b}" for a, b in zip(words, words[7:], strict=False))
    probes = [*words, *pairs, "".join(words)]
    for probe in probes:
        if first.encode(probe, *_ENCODE).tolist() != second.encode(probe, *_ENCODE).tolist():
            raise UnsupportedTokenizer(
                f"the tokenizer.json would have other ids for {probe[:40]!r}",
                where=spec.name,
                hint=_HINT,
            )
