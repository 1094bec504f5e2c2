"""The context length of a configuration that has none: the tokenizer's own, or the usual one."""

from __future__ import annotations

from dataclasses import dataclass

from tokenmill._load.boundary_tokens import settings_files

USUAL = 2048
# Tokenizers without a limit have 10^30 or so; longer rows than this are not a useful default.
LARGEST = 1 << 20
_KEY = "model_max_length"


@dataclass(frozen=True)
class ContextLength:
    """The tokens of a row, and why they are as many; no reason if the configuration has it."""

    tokens: int
    reason: str = ""


def default_context_length(source: object, tokenizer: object) -> ContextLength:
    """Choose the context length for a tokenizer that was loaded from `source`.

    It is `model_max_length` of the tokenizer, or of the tokenizer_config.json next to it, if that
    is a whole number from 1 to 1,048,576; otherwise 2048.
    """
    found = _model_max_length(source, tokenizer)
    if type(found) is int and 1 <= found <= LARGEST:
        return ContextLength(found, f"{_KEY} of the tokenizer")
    got = f"has no {_KEY}" if found is None else f"has the {_KEY} {found}"
    return ContextLength(USUAL, f"the default, because the tokenizer {got}")


def _model_max_length(source: object, tokenizer: object) -> object:
    for owner in (source, tokenizer):
        found = getattr(owner, _KEY, None)
        if found is not None:
            return found
    return next((data[_KEY] for _, data in settings_files(source) if _KEY in data), None)
