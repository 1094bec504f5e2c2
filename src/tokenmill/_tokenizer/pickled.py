"""A tokenizer as `pickle` stores it: its compiled model, or its spec on the reference path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._model.ready import from_payload

if TYPE_CHECKING:
    from tokenmill._model.ready import Ready
    from tokenmill._spec import TokenizerSpec
    from tokenmill._tokenizer.tokenizer import Tokenizer


def reduce(ready: Ready, origin: object) -> tuple[Any, ...]:
    """Return what makes an equal tokenizer in another process: a function and its arguments."""
    if ready.payload is None:
        return _revive_reference, (ready.spec, tuple(ready.meta["reasons"]), origin)
    return _revive, (bytes(ready.payload), origin, ready.tables)


def _revive(payload: bytes, origin: object, tables: str) -> Tokenizer:
    from tokenmill._tokenizer.tokenizer import Tokenizer

    return Tokenizer(from_payload(payload, tables), origin)


def _revive_reference(spec: TokenizerSpec, reasons: tuple[str, ...], origin: object) -> Tokenizer:
    from tokenmill._model.resolve import from_spec
    from tokenmill._tokenizer.tokenizer import Tokenizer

    return Tokenizer(from_spec(spec, reasons), origin)
