"""Texts of one side of a call -> ids, and where they stand."""

# ruff: noqa: SLF001 -- a drop-in needs of the engine what others have no use for
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tokenmill._calls.options import modes, thread_count
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._post import Encoded

if TYPE_CHECKING:
    from tokenmill._post import Templates
    from tokenmill._tokenizer import Tokenizer as Engine

Detail = Literal["ids", "spans", "words"]  # each with what is before it


def has_spans(engine: Engine) -> bool:
    """Tell whether the engine knows where ids stand."""
    return not engine.ready.meta.get("no_offsets")


def templates(engine: Engine) -> Templates:
    """Return what the engine puts around texts."""
    return engine._templates


def encode_column(
    engine: Engine,
    texts: list[Any],
    detail: Detail,
    is_pretokenized: bool,
    as_text: bool,
) -> Encoded:
    """Encode texts, or texts that are split into words."""
    mode: Literal["text", "encode"] = "text" if as_text else "encode"
    if is_pretokenized:
        return _encode_words(engine, texts, detail, mode)
    if detail == "words":
        special, _ = modes(mode, "strict")
        found = engine._model.encode_words(texts, thread_count(None), special)
        ids, offsets, spans, words = found
        return Encoded(ids, offsets, {"spans": spans.reshape(-1, 2), "words": words})
    return _encode(engine, texts, detail, mode)


def _encode(
    engine: Engine, texts: list[str], detail: Detail, mode: Literal["text", "encode"]
) -> Encoded:
    if detail == "ids" and len(texts) == 1:  # much less to do than for a batch
        ids = engine.encode(texts[0], special_in_text=mode)
        return Encoded(ids, np.array([0, len(ids)], dtype=np.int64))
    offsets: Literal["char"] | None = None if detail == "ids" else "char"
    batch = engine.encode_batch(texts, special_in_text=mode, offsets=offsets)
    return Encoded(batch.ids, batch.offsets, {} if batch.spans is None else {"spans": batch.spans})


def _encode_words(
    engine: Engine, texts: list[list[str]], detail: Detail, mode: Literal["text", "encode"]
) -> Encoded:
    """Encode every word by itself, as the library does."""
    side = _encode(engine, [word for words in texts for word in words], detail, mode)
    bounds = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(words) for words in texts], out=bounds[1:])
    columns = side.columns
    if "spans" in columns:
        _check_first_tokens(engine, side)
    if detail == "words":
        numbers = np.arange(bounds[-1]) - np.repeat(bounds[:-1], np.diff(bounds))
        columns = {**columns, "words": np.repeat(numbers, np.diff(side.offsets))}
    return Encoded(side.ids, side.offsets[bounds], columns)


def _check_first_tokens(engine: Engine, side: Encoded) -> None:
    """Refuse where the library trims the first token of a word as one inside of a text."""
    if not any(templates(engine).trim_offsets):
        return
    begins = side.offsets[:-1][np.diff(side.offsets) > 0]
    if side.columns["spans"][begins, 0].any():
        raise UnsupportedTokenizer("a word that does not begin with its first token")
