"""The libraries that are measured, each with the same three calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._bench.answers import Answer, answer_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Request = dict[str, Any]


class CannotMeasure(Exception):  # noqa: N818 -- a message to the parent process, not an error
    """The library cannot run this tokenizer; the message explains why."""


@dataclass(frozen=True)
class Library:
    """How a library is called.

    `encode` takes one text, `encode_batch` a list of them; each returns whatever the library's
    fastest call returns. `answer` makes ids of a list of such results, outside the clock; its
    second argument marks them as results of `encode`. Texts are `str`, or bytes with `takes_bytes`.
    """

    version: str
    encode: Callable[[str], Any]
    encode_batch: Callable[[list[str]], Any]
    answer: Callable[[list[Any], bool], Answer]
    note: str = ""
    takes_bytes: bool = False


def load_native(request: Request) -> Library:
    """Load tokenmill's own tokenizer."""
    import tokenmill  # the other libraries' processes do without

    tokenizer = tokenmill.Tokenizer.load(request["source"], pattern=request["pattern"])
    description = tokenizer.describe()
    note = ""
    if description.path == "reference":
        note = "runs through the tokenizer's own library: " + "; ".join(description.reasons)
    return Library(
        f"tokenmill {tokenmill.__version__}",
        tokenizer.encode,
        tokenizer.encode_batch,
        _native_answer,
        note,
    )


def _native_answer(results: list[Any], singles: bool) -> Answer:
    rows = results if singles else [row for batch in results for row in batch]
    return answer_of(row.tolist() for row in rows)


def load_fast(request: Request) -> Library:
    """Load the tokenizer.json with Hugging Face `tokenizers`, the Rust code of fast tokenizers."""
    if request["json"] is None:
        raise CannotMeasure("needs a tokenizer.json, which cannot be made of this source")
    import tokenizers  # measured here

    tokenizer = tokenizers.Tokenizer.from_file(request["json"])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    many = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    return Library(
        f"tokenizers {tokenizers.__version__}",
        lambda text: tokenizer.encode(text, add_special_tokens=False),
        lambda texts: many(texts, add_special_tokens=False),
        _fast_answer,
    )


def _fast_answer(results: list[Any], singles: bool) -> Answer:
    encodings = results if singles else [one for batch in results for one in batch]
    return answer_of(encoding.ids for encoding in encodings)


def load_slow(request: Request) -> Library:
    """Load the slow Python tokenizer of `transformers`, where there is one for this tokenizer."""
    import transformers  # measured here

    tokenizer = _slow_tokenizer(transformers, request)
    return Library(
        f"transformers {transformers.__version__}, {type(tokenizer).__name__}",
        lambda text: tokenizer(text, add_special_tokens=False)["input_ids"],
        lambda texts: tokenizer(texts, add_special_tokens=False)["input_ids"],
        _slow_answer,
    )


def _slow_answer(results: list[Any], singles: bool) -> Answer:
    return answer_of(results if singles else [row for batch in results for row in batch])


def _slow_tokenizer(transformers: Any, request: Request) -> Any:  # a library's
    if request["folder"] is not None:
        try:
            found = transformers.AutoTokenizer.from_pretrained(request["folder"], use_fast=False)
        except (OSError, ValueError, ImportError, KeyError):
            found = None  # the folder has none; the definition may do
        if found is not None and not found.is_fast:
            return found
    if request["json"] is not None:
        definition = json.loads(Path(request["json"]).read_text(encoding="utf-8"))
        if (found := _word_piece(definition, Path(request["answer"]).parent)) is not None:
            return found
    raise CannotMeasure(
        f"transformers {transformers.__version__} has no slow tokenizer for it, only the fast one"
    )


def _word_piece(definition: dict[str, Any], folder: Path) -> Any | None:  # as above
    """Return the slow BERT tokenizer of a WordPiece definition that BERT's own rules describe."""
    normalizer, model = definition.get("normalizer") or {}, definition["model"]
    cutter = (definition.get("pre_tokenizer") or {}).get("type")
    is_bert = (normalizer.get("type"), cutter) == ("BertNormalizer", "BertPreTokenizer")
    if not is_bert or "max_input_chars_per_word" not in model:  # old files do not name the model
        return None
    try:
        from transformers.models.bert.tokenization_bert_legacy import (
            BertTokenizerLegacy,
        )
    except ImportError:
        return None
    path = folder / "vocab.txt"
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    path.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    return BertTokenizerLegacy(
        str(path),
        do_lower_case=normalizer["lowercase"],
        strip_accents=normalizer["strip_accents"],
        tokenize_chinese_chars=normalizer["handle_chinese_chars"],
    )


LOADERS: dict[str, Callable[[Request], Library]] = {
    "slow": load_slow,
    "fast": load_fast,
    "native": load_native,
}
