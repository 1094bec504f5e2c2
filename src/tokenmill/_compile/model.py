"""TokenizerSpec -> compiled model: the parts are made elsewhere, here they are handed over."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import _core
from tokenmill._compile.normalizer import serialize_normalizer
from tokenmill._compile.regex_ast import NotRegular
from tokenmill._compile.rules import recognise, rule_classes
from tokenmill._compile.split import compile_stage
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._load.byte_level import ALPHABET
from tokenmill._spec import BpeModel, TemplatePart
from tokenmill._unicode import code_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._compile.dfa_tables import StageTables
    from tokenmill._compile.rules import NativeRule
    from tokenmill._spec import SplitStep, TokenizerSpec

META_VERSION = 1


def compile_spec(spec: TokenizerSpec) -> bytes:
    """Compile a tokenizer; UnsupportedTokenizer with `reasons` if the engine cannot be exact."""
    if spec.unsupported or not isinstance(spec.model, BpeModel):
        raise _refusal(spec, spec.unsupported or ("the model is no byte-level BPE",))
    stages, rule = _compile_split(spec)
    is_native = rule is not None or not stages
    meta = _meta(spec, "native" if is_native else "dfa", _split_lines(spec.split, stages, rule))
    meta["reasons"] = [] if is_native else ["the split is none of the built-in rules"]
    return _core.compile_model(
        **_model_tables(spec.model),
        stages=[
            _stage_tuple(stage, step.on_bytes)
            for stage, step in zip(stages, spec.split, strict=True)
        ],
        native_rule=_rule_fields(rule, spec),
        added_tokens=[
            (t.content.encode(), t.id, t.special, t.normalized, t.lstrip, t.rstrip, t.single_word)
            for t in spec.added_tokens
        ],
        normalizer=serialize_normalizer(spec.normalizer),
        add_prefix_space=spec.add_prefix_space,
        prefix_ids=np.array(spec.prefix_ids, dtype=np.uint32),
        suffix_ids=np.array(spec.suffix_ids, dtype=np.uint32),
        whitespace_ranges=_ranges("Whitespace"),
        word_ranges=_ranges("Word"),
        meta=json.dumps(meta, separators=(",", ":")).encode(),
    )


def describe_reference(spec: TokenizerSpec, reasons: Sequence[str]) -> dict[str, Any]:
    """Write the meta data of a tokenizer that its reference library runs."""
    lines = [f"pattern {step.pattern!r}, {step.behavior}" for step in spec.split]
    meta = _meta(spec, "reference", lines)
    meta["reasons"] = list(reasons)
    meta["decoder"] = f"through {spec.reference!r}"
    if not isinstance(spec.model, BpeModel):
        meta["split"] = meta["normalizer"] = [meta["decoder"]]
    return meta


def _compile_split(spec: TokenizerSpec) -> tuple[list[StageTables], NativeRule | None]:
    stages = []
    for step in spec.split:
        try:
            stages.append(compile_stage(step.pattern, step.dialect, step.behavior, step.invert))
        except NotRegular as error:
            raise _refusal(spec, (f"the pattern {step.pattern!r}: {error.reason}",)) from error
    steps = tuple((s.pattern, s.dialect, s.behavior, s.invert) for s in spec.split)
    is_plain = steps and not any(step.on_bytes for step in spec.split)
    return stages, recognise(steps) if is_plain else None


def _model_tables(model: BpeModel) -> dict[str, Any]:
    size = len(model.decode_bytes)
    tokens = [*model.tokens, *[None] * (size - len(model.tokens))]
    token_bytes, token_offsets = _joined(tokens)
    decode_bytes, decode_offsets = _joined(model.decode_bytes)
    return {
        "token_bytes": token_bytes,
        "token_offsets": token_offsets,
        "matchable": np.array([token is not None for token in tokens], dtype=np.uint8),
        "decode_bytes": decode_bytes,
        "decode_offsets": decode_offsets,
        "merges": _contiguous(model.merges),
        "ranks": None if model.ranks is None else _padded(model.ranks, size),
        "ignore_merges": model.ignore_merges,
    }


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


def _stage_tuple(
    stage: StageTables, on_bytes: bool
) -> tuple[Any, int, Any, Any, Any, bool, bool, bool]:
    ranges = _byte_classes(stage) if on_bytes else stage.ranges
    return (
        np.ascontiguousarray(ranges, dtype=np.uint32),
        stage.n_classes,
        np.ascontiguousarray(stage.next, dtype=np.uint16),
        np.ascontiguousarray(stage.sync, dtype=np.uint8),
        np.ascontiguousarray(stage.separates, dtype=np.uint8),
        stage.keep_match,
        stage.keep_gap,
        on_bytes,
    )


def _byte_classes(stage: StageTables) -> NDArray[np.uint32]:
    """Give every byte the class of its stand-in: the pattern was written for those."""
    stand_ins = np.array([ord(character) for character in ALPHABET], dtype=np.uint32)
    rows = np.searchsorted(stage.ranges[:, 0], stand_ins, side="right") - 1
    numbers = np.arange(256, dtype=np.uint32)
    return np.stack([numbers, numbers + 1, stage.ranges[rows, 2]], axis=1)


def _rule_fields(rule: NativeRule | None, spec: TokenizerSpec) -> dict[str, object] | None:
    if rule is None:
        return None
    classes = rule_classes(rule, spec.split[-1].dialect)
    return {**asdict(rule), "classes": np.ascontiguousarray(classes, dtype=np.uint32)}


def _ranges(name: str) -> NDArray[np.uint32]:
    return np.array(code_points("hf", name), dtype=np.uint32).reshape(-1, 2)


def _meta(spec: TokenizerSpec, path: str, split: list[str]) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "version": META_VERSION,
        "name": spec.name,
        "kind": spec.kind,
        "hash": spec.content_hash,
        "path": path,
        "split": split,
        "normalizer": [step.kind for step in spec.normalizer],
        "decoder": "native",
        "notes": list(spec.notes),
        "special_tokens": spec.special_tokens,
        "added_tokens": {token.content: token.id for token in spec.added_tokens},
        # tokenizer.json spells bytes as printable characters, rank files hold the bytes.
        "spelling": "alphabet" if spec.reference == "tokenizers" else "utf-8",
        **_templates(spec),
    }
    if spec.unsupported_decode:
        meta["decoder"] = f"through {spec.reference!r}: {'; '.join(spec.unsupported_decode)}"
        meta["source"] = base64.b85encode(zlib.compress(spec.source or b"", 9)).decode()
        meta["reference"] = spec.reference
    return meta


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


def _split_lines(
    steps: Sequence[SplitStep], stages: Sequence[StageTables], rule: NativeRule | None
) -> list[str]:
    if rule is not None:
        parameters = ", ".join(f"{key} {value!r}" for key, value in asdict(rule).items())
        return [f"built-in rule: {parameters}"]
    return [
        f"automaton of {len(stage.next)} states and {stage.n_classes} classes, {step.behavior}"
        f"{' (inverted)' if step.invert else ''}: {step.pattern}"
        for step, stage in zip(steps, stages, strict=True)
    ]


def _refusal(spec: TokenizerSpec, reasons: tuple[str, ...]) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(
        f"the native engine cannot run it: {'; '.join(reasons)}",
        where=spec.name,
        reasons=reasons,
        hint=f"it runs through the library {spec.reference!r}",
    )
