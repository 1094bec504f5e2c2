"""Blanks that the vocabulary writes with a marker (U+2581): spelled back, so that text stays as is.

A tokenizer that first turns every " " into a marker gives the same ids as one whose tokens have " "
for the marker and whose text has " " for the (rare) markers in it. The second one need not rewrite
the text. Where the marker is put in front of texts or words, a blank is. Added tokens that are
looked for in normalized text distinguish a marker from a blank: they are found first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokenmill._spec import BpeModel, NormalizerStep, OpaqueModel, UnigramModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._spec import Metaspace, Model, SplitStep, TokenizerSpec

_WHITE = r"\s"


@dataclass(frozen=True)
class Spelled:
    """A tokenizer over blanks.

    `words_at_blanks`: a blank begins a word, nothing else does.
    `prefix`: which ranges of text get a blank in front if they do not begin with one.
    `respelling`: what is done to the text between added tokens when all of them have been found.
    `ideographs_alone`: the split makes words of ideographs, and the normalizer leaves them alone.
    """

    spec: TokenizerSpec
    words_at_blanks: bool = False
    prefix: Literal["never", "always", "first"] = "never"
    reasons: tuple[str, ...] = ()
    respelling: tuple[NormalizerStep, ...] = ()
    ideographs_alone: bool = False


def spell_blanks(spec: TokenizerSpec) -> Spelled:
    """Spell the markers of a tokenizer as blanks, if it has any."""
    if spec.metaspace is not None:
        return _spell_metaspace(spec, spec.metaspace)
    marker = _marker_of(spec.normalizer)
    if marker is None:
        return Spelled(spec, prefix="always" if spec.add_prefix_space else "never")
    if any(step.pattern != " " for step in spec.split):
        return Spelled(spec, reasons=("a split of text whose blanks are replaced",))
    steps = [*spec.normalizer[:-1]]
    respelling: tuple[NormalizerStep, ...] = ()
    if any(token.normalized and (token.lstrip or token.rstrip) for token in spec.added_tokens):
        # They take white space with them, and the marker is none.
        steps.append(spec.normalizer[-1])
        respelling = (_to_blanks(marker),)
    elif steps and steps[-1].kind == "prepend" and steps[-1].a == marker:
        # The library puts it in front of what is then replaced: the order does not matter.
        steps[-1:] = [_to_blanks(marker), NormalizerStep("prepend", a=" ")]
    else:
        steps.append(_to_blanks(marker))
    # No " " is left to split at.
    spelled = replace(
        spec, normalizer=tuple(steps), split=(), model=spell_model(spec.model, marker)
    )
    reasons = tuple(unknown_marker(spec.model, marker))
    return Spelled(spelled, reasons=reasons, respelling=respelling)


def _marker_of(steps: Sequence[NormalizerStep]) -> str | None:
    if not steps or steps[-1].kind != "replace" or steps[-1].a != " " or len(steps[-1].b) != 1:
        return None
    return steps[-1].b


def _spell_metaspace(spec: TokenizerSpec, space: Metaspace) -> Spelled:
    before, after = spec.split[: space.after], spec.split[space.after :]
    reasons = []
    if after:
        reasons.append("a pre-tokenizer after Metaspace")
    if len(space.replacement) != 1:
        reasons.append(f"Metaspace with {space.replacement!r}")
    steps = [*spec.normalizer]
    if before:
        reasons += _squeeze_reasons(spec, space, before)
        # A word that begins with the marker does not get another one.
        begun = NormalizerStep("replace", a=f" {space.replacement}", b=" ")
        steps += [NormalizerStep("squeeze"), begun]
    to_blanks = _to_blanks(space.replacement)
    # The library looks for these before it writes markers.
    is_later = any(token.normalized for token in spec.added_tokens)
    if not is_later:
        steps.append(to_blanks)
    spelled = replace(
        spec,
        normalizer=tuple(steps),
        split=(),
        metaspace=None,
        model=spell_model(spec.model, space.replacement),
    )
    reasons += unknown_marker(spec.model, space.replacement)
    prefix = "never" if before else space.prepend
    respelling = (to_blanks,) if is_later else ()
    return Spelled(spelled, space.split, prefix, tuple(reasons), respelling)


def _squeeze_reasons(
    spec: TokenizerSpec, space: Metaspace, before: Sequence[SplitStep]
) -> list[str]:
    """Words at white space, each with a marker in front: blanks between words are just that."""
    at_white = len(before) == 1 and (before[0].pattern, before[0].behavior) == (_WHITE, "removed")
    if not at_white or space.prepend != "always" or not space.split:
        return ["Metaspace after another pre-tokenizer"]
    if any(token.normalized for token in spec.added_tokens):
        return ["Metaspace at white space, with normalized added tokens"]
    return []


def unknown_marker(model: Model, marker: str) -> list[str]:
    """Report a marker that would become the tokens of its bytes, which are not those of a blank."""
    if not isinstance(model, (BpeModel, UnigramModel)) or model.byte_ids is None:
        return []
    written = marker.encode()
    unknown = model.tokens[model.unk_id] if model.unk_id is not None else None
    if written in model.tokens and written not in (unknown or b""):
        return []
    return [f"bytes for {marker!r}, which is not a token of its own"]


def _to_blanks(marker: str) -> NormalizerStep:
    return NormalizerStep("replace", a=marker, b=" ")


def spell_model(model: Model, marker: str) -> Model:
    """Write the tokens of a model with blanks for markers; none of them can have held a blank."""
    if isinstance(model, OpaqueModel):
        return model
    written, blank = marker.encode(), b" "
    tokens = tuple(
        None if token is None or blank in token else token.replace(written, blank)
        for token in model.tokens
    )
    if isinstance(model, BpeModel) and model.merges is not None and len(model.merges):
        # Merges of tokens that hold a blank: no text can come to them.
        gone = np.array([old is not None and blank in old for old in model.tokens])
        kept = ~gone[model.merges].any(axis=1)
        return replace(model, tokens=tokens, merges=model.merges[kept])
    return replace(model, tokens=tokens)
