"""TokenizerSpec -> compiled model: other modules make the parts, this one hands them over."""

from __future__ import annotations

import json
import zlib
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import _core
from tokenmill._compile.blanks import spell_blanks
from tokenmill._compile.decoder import decode_table, decoding_of
from tokenmill._compile.definition import Definition
from tokenmill._compile.normalizer import serialize_normalizer
from tokenmill._compile.offsets import offset_reasons, trim_mode
from tokenmill._compile.sentencepiece import (
    describe_sentencepiece,
    serialize_sentencepiece,
    spell_sentencepiece,
)
from tokenmill._compile.split_plan import compile_split, spell_ideographs
from tokenmill._compile.tables import model_reasons, vocab_tables
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._spec import NO_RANK, BpeModel, OpaqueModel, TemplatePart
from tokenmill._unicode import code_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._spec import TokenizerSpec

META_VERSION = 1


def compile_spec(spec: TokenizerSpec) -> bytes:
    """Compile a tokenizer; UnsupportedTokenizer with `reasons` if the engine cannot be exact."""
    if spec.unsupported or isinstance(spec.model, OpaqueModel):
        raise _refusal(spec, spec.unsupported or ("the model is unknown",))
    is_sentencepiece = spec.sentencepiece is not None
    spelled = (
        spell_sentencepiece(spec) if is_sentencepiece else spell_ideographs(spell_blanks(spec))
    )
    normalizer = (
        serialize_sentencepiece(spec)
        if is_sentencepiece
        else serialize_normalizer(spelled.spec.normalizer)
    )
    vanishing = [] if is_sentencepiece else _vanishing(spec, normalizer)
    reasons = (*spelled.reasons, *model_reasons(spelled), *vanishing)
    if reasons:
        raise _refusal(spec, reasons)
    split = compile_split(spelled)
    meta = _meta(spec, "native" if split.is_native else "dfa", split.lines)
    meta["reasons"] = [] if split.is_native else ["the split is none of the built-in rules"]
    meta["no_offsets"] = offset_reasons(spelled.spec)
    definition = Definition(
        vocab=vocab_tables(spelled.spec.model, decode_table(spec), drop_white=split.keeps_white),
        cut_by_tokens=split.cut_by_tokens,
        stages=split.stages,
        rule=split.rule,
        added_tokens=spelled.spec.added_tokens,
        normalizer=normalizer,
        respelling=serialize_normalizer(spelled.respelling),
        prefix_space=spelled.prefix,
        trim=trim_mode(spec),
        prefix_ids=np.array(spec.prefix_ids, dtype=np.uint32),
        suffix_ids=np.array(spec.suffix_ids, dtype=np.uint32),
        whitespace_ranges=_ranges("Whitespace"),
        word_ranges=_ranges("Word"),
        meta=pack_meta(meta, spec.source),
    )
    return _core.compile_model(definition)


def pack_meta(meta: dict[str, Any], source: bytes | None) -> bytes:
    """Write meta data as JSON, added tokens as another line; after a NUL, the tokenizer.json."""
    head = {key: value for key, value in meta.items() if key != "added_tokens"}
    lines = [json.dumps(part, separators=(",", ":")) for part in (head, meta["added_tokens"])]
    text = "\n".join(lines).encode()
    # Fast rather than small: a better packing would take as long as compiling.
    return text if source is None else text + b"\0" + zlib.compress(source, 1)


def describe_reference(spec: TokenizerSpec, reasons: Sequence[str]) -> dict[str, Any]:
    """Write the meta data of a tokenizer that its reference library runs."""
    lines = [f"pattern {step.pattern!r}, {step.behavior}" for step in spec.split]
    meta = _meta(spec, "reference", lines)
    meta["reasons"] = list(reasons)
    if isinstance(spec.model, OpaqueModel) or spec.sentencepiece is not None:
        meta["split"] = meta["normalizer"] = [f"through {spec.reference!r}"]
    return meta


def _vanishing(spec: TokenizerSpec, normalizer: bytes) -> list[str]:
    """Report added tokens of which the normalizer leaves nothing, which would match everywhere."""
    return [
        f"the added token {token.content!r}, which is normalized to nothing"
        for token in spec.added_tokens
        if token.normalized and not _core.normalize(normalizer, token.content.encode())
    ]


def _ranges(name: str) -> NDArray[np.uint32]:
    return np.array(code_points("hf", name), dtype=np.uint32).reshape(-1, 2)


def _meta(spec: TokenizerSpec, path: str, split: list[str]) -> dict[str, Any]:
    decoding = decoding_of(spec)
    through = f"through {spec.reference!r}: {'; '.join(decoding['reasons'])}"
    return {
        "version": META_VERSION,
        "name": spec.name,
        "kind": spec.kind,
        "hash": spec.content_hash,
        "path": path,
        "split": split,
        "normalizer": _normalizer_lines(spec),
        "decoder": through if decoding["reasons"] else "native",
        "decoding": decoding,
        "reference": spec.reference,
        "ranks": _ranks_of(spec),
        "notes": list(spec.notes),
        "special_tokens": spec.special_tokens,
        "added_tokens": {token.content: token.id for token in spec.added_tokens},
        # tokenizer.json spells bytes as printable characters, rank files hold the bytes.
        "spelling": _spelling(spec),
        **_templates(spec),
    }


def _normalizer_lines(spec: TokenizerSpec) -> list[str]:
    if spec.sentencepiece is not None:
        return describe_sentencepiece(spec.sentencepiece)
    return [step.kind for step in spec.normalizer]


def _ranks_of(spec: TokenizerSpec) -> dict[str, str] | None:
    """Return the parts of a tokenizer.json other than tokens, if ids are in order of ranks."""
    ranks = spec.model.ranks if isinstance(spec.model, BpeModel) else None
    is_plain = not (spec.normalizer or spec.add_prefix_space or spec.prefix_ids or spec.suffix_ids)
    if spec.source is not None or ranks is None or len(spec.split) != 1 or not is_plain:
        return None
    given = ranks[ranks != NO_RANK].astype(np.int64)
    has_special_only = all(token.special and not token.normalized for token in spec.added_tokens)
    if not has_special_only or (np.diff(given) <= 0).any():
        return None
    return {"pattern": spec.split[0].pattern, "dialect": spec.split[0].dialect}


def _spelling(spec: TokenizerSpec) -> str:
    if spec.texts:
        return "texts"
    return "alphabet" if spec.reference == "tokenizers" else "utf-8"


def _templates(spec: TokenizerSpec) -> dict[str, Any]:
    """Write what is put around one text and around two; None where that is not known."""
    text = TemplatePart("A")
    around = [TemplatePart(ids=ids) for ids in (spec.prefix_ids, spec.suffix_ids)]
    single, pair = spec.single, spec.pair
    if single == ():
        single = (around[0], text, around[1])
    if pair == ():
        is_bare = not (spec.prefix_ids or spec.suffix_ids)
        pair = (text, TemplatePart("B", (), 1, 1)) if is_bare else None
    return {
        "single": None if single is None else [astuple(part) for part in single],
        "pair": None if pair is None else [astuple(part) for part in pair],
        "trim_offsets": list(spec.trim_offsets),
    }


def _refusal(spec: TokenizerSpec, reasons: tuple[str, ...]) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(
        f"the native engine cannot run it: {'; '.join(reasons)}",
        where=spec.name,
        reasons=reasons,
        hint=f"it runs through the library {spec.reference!r}",
    )
