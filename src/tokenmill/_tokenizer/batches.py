"""Texts of a batch -> ids with spans, or rows for a model. Plain ids take a shorter way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._calls.batch import EncodedBatch, TokenBatch
from tokenmill._calls.options import row_dtype, texts_of
from tokenmill._post import assemble, encode_side

if TYPE_CHECKING:
    from tokenmill._model.resolve import Ready
    from tokenmill._post import Wanted


def encode_with_spans(
    ready: Ready, texts: Any, in_characters: bool, core: dict[str, int], reason: str | None
) -> TokenBatch:
    """Return ids and the span of each; `core` are the options of the core's `encode_batch`."""
    side = encode_side(ready.span_model, texts, in_characters, **core)
    return TokenBatch(side.ids, side.offsets, side.columns["spans"], reason=reason)


def encode_rows(
    ready: Ready,
    texts: Any,
    wanted: Wanted,
    *,
    in_characters: bool | None,
    dtype: Any,
    core: dict[str, int],
) -> EncodedBatch:
    """Return the rows that `wanted` describes, with spans unless `in_characters` is None."""
    add_special_tokens = bool(core["add_special_tokens"])
    kind, bits = row_dtype(dtype, ready.model.max_id)
    core |= {"bits": bits, "add_special_tokens": False}  # the rows get them, not the texts
    batches = [texts] if wanted.pairs is None else [texts, texts_of(wanted.pairs, "pairs")]
    need = ready.tokens_needed(wanted, add_special_tokens=add_special_tokens)
    model = ready.model if in_characters is None else ready.span_model
    sides = [encode_side(model, batch, in_characters, need, **core) for batch in batches]
    return assemble(
        sides, ready.templates, wanted, add_special_tokens=add_special_tokens, dtype=kind
    )
