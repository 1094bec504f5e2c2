"""What the core needs to know about offsets, and when it cannot give them exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from tokenmill._spec import TokenizerSpec


def trim_mode(spec: TokenizerSpec) -> Literal["never", "all", "keep_added"]:
    """Return which blanks offsets leave out: none, all, or all but one that may have been added."""
    if not spec.trim_offsets:
        return "never"
    return "keep_added" if spec.trim_offsets[0] else "all"


def offset_reasons(spec: TokenizerSpec) -> list[str]:
    """List why offsets cannot be exact; `spec` has its blanks spelled."""
    reasons = []
    model = spec.model
    if len(spec.trim_offsets) > 1:
        reasons.append("offsets that are trimmed more than once")
    if spec.trim_offsets and isinstance(model, BpeModel) and model.suffix:
        reasons.append("trimmed offsets of words with a suffix")
    is_over_bytes = isinstance(model, BpeModel) and model.symbols == "bytes"
    if spec.trim_offsets and not is_over_bytes:
        reasons.append("trimmed offsets of a model that is not over bytes")
    if isinstance(model, BpeModel) and not is_over_bytes and not _covers_text(model):
        # Dropped text moves everything after it in the word.
        reasons.append("a vocabulary that drops characters it does not know")
    return reasons


def _covers_text(model: BpeModel) -> bool:
    return model.byte_ids is not None or model.unk_id is not None
