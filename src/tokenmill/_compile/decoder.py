"""What a compiled model keeps for decoding: the table of the core, and the steps as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokenmill._compile.regex_ast import NotRegular
from tokenmill._compile.split import compile_stage
from tokenmill._errors import PatternError
from tokenmill._spec import BpeModel, LongestMatchModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._spec import TokenizerSpec


def decode_table(spec: TokenizerSpec) -> Sequence[bytes | None]:
    """Return the core's entry for every id: decoded bytes, or UTF-8 if decoders work on texts."""
    if not spec.texts:
        return spec.model.decode_bytes if isinstance(spec.model, BpeModel) else ()
    texts = [None if text is None else text.encode() for text in spec.texts]
    return [*texts, *[None] * (spec.vocab_size - len(texts))]


def decoding_of(spec: TokenizerSpec) -> dict[str, Any]:
    """Describe decoding for the meta data of a model.

    `reasons`: why only the reference library can. `on_texts`: whether the table holds texts, which
    `steps` work on (None: a blank between them); `empty`: ids whose text is empty, not absent.
    `pieces`: the rules of a SentencePiece model, which take the place of steps.
    """
    steps = spec.decoder
    pieces = spec.sentencepiece_decoder
    return {
        "reasons": [*spec.unsupported_decode, *_own_decoder(spec), *_hard_patterns(spec)],
        "on_texts": bool(spec.texts),
        "pieces": None if pieces is None else asdict(pieces),
        "steps": None if steps is None else [asdict(step) for step in steps],
        "empty": [token_id for token_id, text in enumerate(spec.texts) if text == ""],
    }


def _own_decoder(spec: TokenizerSpec) -> list[str]:
    """Report models whose way of decoding the steps cannot express."""
    return ["the longest match over bytes"] if isinstance(spec.model, LongestMatchModel) else []


def _hard_patterns(spec: TokenizerSpec) -> list[str]:
    """Report patterns that no automaton can run exactly."""
    reasons: list[str] = []
    for step in spec.decoder or ():
        if step.kind != "replace_regex":
            continue
        try:
            compile_stage(step.a, "onig", "isolated", invert=False)
        except NotRegular as error:
            reasons.append(f"the decoder's pattern {step.a!r}: {error.reason}")
        except PatternError as error:
            reasons.append(f"the decoder's pattern {step.a!r}: {error}")
    return reasons
