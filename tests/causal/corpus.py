"""Documents with known content: the paragraphs of the project's own pages, which are real text."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokenizers
from datasets import Dataset, List, Value
from tests.load.sources import gpt2_json

from tokenmill import CausalLMTokenizer, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/develop/architecture.md",
    "docs/concepts/the-mill.md",
)
QUIET: dict[str, Any] = {"show_progress": False}


@cache
def paragraphs() -> tuple[str, ...]:
    """Some hundred texts, from one word to many lines."""
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    return tuple(part for page in pages for part in page.split("\n\n") if part)


def dataset(texts: Sequence[str | None], **columns: list[Any]) -> Dataset:
    return Dataset.from_dict({"text": list(texts), **columns})


@cache
def gpt2_file(folder: Path) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(gpt2_json()))
    return path


def reference(path: Path) -> tokenizers.Tokenizer:
    """The library's tokenizer; texts of special tokens are text, as the mill takes them."""
    loaded = tokenizers.Tokenizer.from_file(str(path))
    loaded.encode_special_tokens = True
    return loaded


@cache
def builtin() -> Tokenizer:
    """Loaded once: most tests are about datasets."""
    return Tokenizer.load()


def made(context_length: int = 32, **keys: Any) -> CausalLMTokenizer:
    given = {**QUIET, "tokenizer": builtin(), **keys}
    return CausalLMTokenizer(context_length=context_length, **given)


def rows(texts: Any, **options: Any) -> list[Any]:
    return columns_of(made().tokenize(texts, **options))


def features(length: int = 32) -> dict[str, Any]:
    """Of a result whose rows have one length; -1 if they may be short."""
    return {
        "input_ids": List(Value("int32"), length=length),
        "attention_mask": List(Value("int8"), length=length),
        "labels": List(Value("int32"), length=length),
    }


def columns_of(rows: Any) -> list[tuple[list[int], list[int], list[int]]]:
    """Every row of a result, as lists."""
    return [(row["input_ids"], row["attention_mask"], row["labels"]) for row in rows]
