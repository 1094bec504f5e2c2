"""Texts of one side of a call -> ids, and their offsets and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tokenmill._calls.options import core_options, modes, thread_count
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._post import Encoded, encode_enough, is_long, may_be_long

if TYPE_CHECKING:
    from tokenmill._post import Templates, Wanted
    from tokenmill._tokenizer import Tokenizer as Engine

Detail = Literal["ids", "spans", "words"]  # each includes those before it


def has_spans(engine: Engine) -> bool:
    """Whether the engine has offsets."""
    return not engine.ready.meta.get("no_offsets")


def templates(engine: Engine) -> Templates:
    """Return the special tokens that the engine puts around texts."""
    return engine.ready.templates


def tokens_needed(
    engine: Engine, columns: list[list[Any]], wanted: Wanted, *, add_special_tokens: bool
) -> int | None:
    """Return how many tokens of each text decide about the rows; None if all of them do."""
    if len(columns) > 1 or wanted.truncation is None or not may_be_long(columns[0]):
        return None
    return engine.ready.tokens_needed(wanted, add_special_tokens=add_special_tokens)


def encode_column(
    engine: Engine,
    texts: list[Any],
    detail: Detail,
    *,
    is_pretokenized: bool,
    as_text: bool,
    need: int | None = None,
) -> Encoded:
    """Encode texts, or texts that are split into words; `need` tokens of a text are enough."""
    mode: Literal["text", "encode"] = "text" if as_text else "encode"
    if is_pretokenized:
        return _encode_words(engine, texts, detail, mode)
    if detail == "ids" and need is not None and is_long(texts, need):
        core = core_options(False, mode, "strict")
        return encode_enough(
            engine.ready.model, texts, need, threads=thread_count(None), bits=32, **core
        )
    if detail == "words":
        special, _ = modes(mode, "strict")
        model: Any = engine.ready.model
        ids, offsets, spans, words = model.encode_words(
            texts, threads=thread_count(None), special_mode=special
        )
        return Encoded(ids, offsets, {"spans": spans.reshape(-1, 2), "words": words})
    return _encode(engine, texts, detail, mode)


def _encode(
    engine: Engine, texts: list[str], detail: Detail, mode: Literal["text", "encode"]
) -> Encoded:
    if detail == "ids" and len(texts) == 1:  # much faster than a batch
        ids = engine.encode(texts[0], special_in_text=mode)
        return Encoded(ids, np.array([0, len(ids)], dtype=np.int64))
    offsets: Literal["char"] | None = None if detail == "ids" else "char"
    batch = engine.encode_batch(texts, special_in_text=mode, offsets=offsets)
    return Encoded(batch.ids, batch.offsets, {} if batch.spans is None else {"spans": batch.spans})


def _encode_words(
    engine: Engine, texts: list[list[str]], detail: Detail, mode: Literal["text", "encode"]
) -> Encoded:
    """Encode each word separately, as the library does."""
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
    """Refuse if the library trims the first token of a word like one inside a text."""
    if not any(templates(engine).trim_offsets):
        return
    begins = side.offsets[:-1][np.diff(side.offsets) > 0]
    if side.columns["spans"][begins, 0].any():
        raise UnsupportedTokenizer("a word that does not start with its first token")
