"""tokenizer.json of the `tokenizers` library -> TokenizerSpec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError
from tokenmill._load.added_tokens import read_added_tokens, written_contents
from tokenmill._load.bpe import ReadModel, read_bpe, read_vocab
from tokenmill._load.fields import expect, member, shown, type_of
from tokenmill._load.normalizer import read_normalizer
from tokenmill._load.post_processor import read_post_processor
from tokenmill._load.pre_tokenizer import read_pre_tokenizer
from tokenmill._spec import OpaqueModel, TokenizerSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._spec import AddedToken, NormalizerStep

_KINDS = {"BPE": "bpe", "Unigram": "unigram", "WordPiece": "wordpiece", "WordLevel": "wordlevel"}


def read_tokenizer_json(data: dict[str, Any], source: bytes, name: str) -> TokenizerSpec:
    """Read a parsed file; `source` is its text, kept for the reference library."""
    section = member(data, "model", dict, "")
    kind = _model_kind(section)
    vocab = _read_pieces(section) if kind == "unigram" else read_vocab(section)
    added_tokens, notes = read_added_tokens(data.get("added_tokens"), vocab)
    normalizer, reasons = read_normalizer(data.get("normalizer"))
    splitting = read_pre_tokenizer(data.get("pre_tokenizer"))
    frame = read_post_processor(data.get("post_processor"))
    written, decode_reasons = written_contents(added_tokens, normalizer)
    if kind == "bpe" and splitting.byte_level:
        read = read_bpe(section, vocab, written)
    else:
        read = _opaque(kind, vocab)
    return TokenizerSpec(
        name=name,
        kind=kind,
        model=read.model,
        added_tokens=added_tokens,
        normalizer=tuple(normalizer),
        split=tuple(splitting.steps),
        add_prefix_space=splitting.add_prefix_space,
        prefix_ids=frame.prefix_ids,
        suffix_ids=frame.suffix_ids,
        single=frame.single,
        pair=frame.pair,
        trim_offsets=frame.trim_offsets,
        reference="tokenizers",
        unsupported=(
            *read.reasons,
            *reasons,
            *splitting.reasons,
            *frame.reasons,
            *_vanishing(added_tokens, normalizer),
        ),
        unsupported_decode=(*_decoder_reasons(data.get("decoder"), read.model), *decode_reasons),
        notes=(*notes, *_left_out(data)),
        source=source,
    )


def _model_kind(section: dict[str, Any]) -> str:
    stated = section.get("type")
    if stated is None:  # old files leave it out; the library then tries what fits
        if "merges" in section:
            return "bpe"
        if type(section.get("vocab")) is list:
            return "unigram"
        return "wordpiece" if "max_input_chars_per_word" in section else "wordlevel"
    if stated not in _KINDS:
        problem = f"model.type: expected one of {sorted(_KINDS)}, got {shown(stated)}"
        raise LoadError(problem)
    return _KINDS[stated]


def _read_pieces(section: dict[str, Any]) -> dict[str, int]:
    pieces = member(section, "vocab", list, "model")
    vocab: dict[str, int] = {}
    for index, piece in enumerate(pieces):
        if type(piece) is not list or len(piece) != 2 or type(piece[0]) is not str:  # noqa: PLR2004
            place = f"model.vocab[{index}]"
            raise LoadError(f"{place}: expected [piece, score], got {shown(piece)}")
        vocab[piece[0]] = index
    return vocab


def _opaque(kind: str, vocab: dict[str, int]) -> ReadModel:
    reason = "BPE over characters, not bytes" if kind == "bpe" else f"model {kind}"
    return ReadModel(OpaqueModel(1 + max(vocab.values(), default=-1)), [reason])


def _vanishing(
    added_tokens: Sequence[AddedToken], normalizer: Sequence[NormalizerStep]
) -> list[str]:
    """Report added tokens that may normalize to nothing, which would match everywhere."""
    removing = any(
        step.kind in ("strip", "strip_accents") or (step.kind == "replace" and not step.b)
        for step in normalizer
    )
    if removing and any(token.normalized for token in added_tokens):
        return ["normalized added tokens under a normalizer that removes characters"]
    return []


def _decoder_reasons(section: object, model: object) -> tuple[str, ...]:
    if isinstance(model, OpaqueModel):
        return ("the model is unknown to the native engine",)
    if section is None:
        return ("no decoder: the library puts a space between tokens",)
    kind, fields = type_of(section, "decoder")
    if kind == "Sequence":
        children = expect(fields.get("decoders"), list, "decoder.decoders")
        return _decoder_reasons(children[0], model) if len(children) == 1 else ("a decoder chain",)
    return () if kind == "ByteLevel" else (f"decoder {kind}",)


def _left_out(data: dict[str, Any]) -> list[str]:
    return [
        f'the "{key}" section is ignored: every text is encoded whole and alone'
        for key in ("truncation", "padding")
        if data.get(key) is not None
    ]
