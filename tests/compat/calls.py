"""Random calls of a tokenizer of `transformers`, and all that can be seen of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tests.compat.cases import TEXTS
from transformers import BatchEncoding

if TYPE_CHECKING:
    import random

OPTIONS: dict[str, tuple[Any, ...]] = {
    "padding": (True, "longest", "max_length", False),
    "truncation": (True, "only_first", "only_second", "longest_first", False),
    "max_length": (3, 5, 8, 12, 40, 0),
    "stride": (1, 2, 4),
    "pad_to_multiple_of": (4, 8),
    "padding_side": ("left", "right"),
    "return_tensors": ("np", "pt"),
    "return_offsets_mapping": (True, False),
    "return_overflowing_tokens": (True, False),
    "return_special_tokens_mask": (True, False),
    "return_length": (True, False),
    "return_attention_mask": (True, False),
    "return_token_type_ids": (True, False),
    "split_special_tokens": (True, False),
    "add_special_tokens": (True, False),
}
ODD: list[tuple[Any, Any, bool]] = [
    (3, None, False), (["a", 3], None, False), ([], None, False), ("a\ud800", None, False),
    (["a"], ["b", "c"], False), (["a"], "b", False), ([("a", "b")], None, False),
    ([["a"], "b"], None, True), (b"x", None, False), (["a", None], None, False),
]  # fmt: skip


def random_call(choose: random.Random) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Choose texts and options; half of the options are left out."""
    text, pair, words = _inputs(choose)
    options = {
        name: choose.choice(values) for name, values in OPTIONS.items() if choose.random() < 0.5
    }
    if words:
        options["is_split_into_words"] = True
    return (text, pair), options


def _inputs(choose: random.Random) -> tuple[Any, Any, bool]:
    if choose.random() < 0.1:
        return choose.choice(ODD)
    words, batched, paired = (choose.random() < 0.5 for _ in range(3))
    count = choose.randint(1, 5)

    def some() -> Any:
        texts: list[Any] = [choose.choice(TEXTS) for _ in range(count if batched else 1)]
        if words:
            texts = [text.split(" ") for text in texts]
        return texts if batched else texts[0]

    return some(), some() if paired else None, words


def seen(answer: Any) -> Any:
    """Show an answer, tensors with their types."""
    if not isinstance(answer, BatchEncoding):
        return plain(answer)
    shown: dict[Any, Any] = {name: plain(value) for name, value in answer.items()}
    shown["order"] = list(answer)
    shown["facts"] = answer.n_sequences, answer.is_fast
    for i in range(len(answer.encodings or [])):
        shown[i] = answer.tokens(i), answer.word_ids(i), answer.sequence_ids(i), len(answer[i])
    return shown


def plain(value: Any) -> Any:
    """Show an array or a tensor."""
    if torch.is_tensor(value):
        return "pt", str(value.dtype), value.tolist()
    if isinstance(value, np.ndarray):  # of objects, where rows differ in length
        rows = [row.tolist() if hasattr(row, "tolist") else row for row in value]
        return "np", str(value.dtype), rows
    return value
