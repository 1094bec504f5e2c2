"""Small tokenizers with every kind of post-processor, and texts that are hard on them."""

from __future__ import annotations

import copy
from typing import Any

from tests.conftest import small_definition

BOS, EOS = 265, 266
TEXTS = [
    "",
    " ",
    "hello world",
    "hello world hello world, hello!  the world is <s> wide</s> and hello",
    "h\u00e9llo w\u00f6rld \u4f60\u597d \U0001f468\u200d\U0001f469 e\u0301 \u0e01\u0e33",
    "\x00\ufeff\ufffd\u2581 \u1100\u1161\u11a8 \ud7ff\ue000",
    "<s></s><s>",
    "a\n\n\tb   c",
    "<mask> hello<mask>world  <mask>",
]


def _template(single: list[Any], pair: list[Any]) -> dict[str, Any]:
    def pieces(items: list[Any]) -> list[dict[str, Any]]:
        return [
            {"Sequence": {"id": name, "type_id": type_id}}
            if name in "AB"
            else {"SpecialToken": {"id": name, "type_id": type_id}}
            for name, type_id in items
        ]

    special = {
        token: {"id": token, "ids": [token_id], "tokens": [token]}
        for token, token_id in (("<s>", BOS), ("</s>", EOS))
    }
    return {
        "type": "TemplateProcessing", "single": pieces(single), "pair": pieces(pair),
        "special_tokens": special,
    }  # fmt: skip


_BYTE_LEVEL = {
    "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True,
}  # fmt: skip
_BERT_LIKE = _template(
    [("<s>", 0), ("A", 0), ("</s>", 0)],
    [("<s>", 0), ("A", 0), ("</s>", 0), ("B", 1), ("</s>", 1)],
)
POST_PROCESSORS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "byte_level": _BYTE_LEVEL,
    "bert_like": _BERT_LIKE,
    "bos": _template([("<s>", 0), ("A", 0)], [("<s>", 0), ("A", 0), ("<s>", 1), ("B", 1)]),
    "swapped": _template([("A", 1), ("</s>", 2)], [("B", 3), ("</s>", 2), ("A", 4)]),
    "bert": {"type": "BertProcessing", "sep": ["</s>", EOS], "cls": ["<s>", BOS]},
    "roberta": {
        "type": "RobertaProcessing", "sep": ["</s>", EOS], "cls": ["<s>", BOS],
        "trim_offsets": True, "add_prefix_space": False,
    },
    "sequence": {"type": "Sequence", "processors": [_BYTE_LEVEL, _BERT_LIKE]},
}  # fmt: skip


def definition(post_processor: str = "bert_like") -> dict[str, Any]:
    """A tokenizer.json: bytes, nine merges, two special tokens and a mask that eats blanks."""
    made = copy.deepcopy(small_definition())
    made["post_processor"] = POST_PROCESSORS[post_processor]
    made["added_tokens"].append({
        "id": 267, "content": "<mask>", "single_word": False, "lstrip": True, "rstrip": False,
        "normalized": False, "special": True,
    })  # fmt: skip
    made["added_tokens"].append({
        "id": 268, "content": "wide", "single_word": True, "lstrip": False, "rstrip": False,
        "normalized": True, "special": False,
    })  # fmt: skip
    return made


def word_level() -> dict[str, Any]:
    """A tokenizer.json of whole words, with a special token for what it does not know."""
    words = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "hello", "world", "the", "is", ",", "!"]
    made = definition("none")
    special = {**made["added_tokens"][0], "lstrip": False}
    made["added_tokens"] = [{**special, "id": i, "content": words[i]} for i in range(4)]
    made["pre_tokenizer"] = {"type": "BertPreTokenizer"}
    made["decoder"] = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    made["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
    made["model"] = {
        "type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)},
        "unk_token": "[UNK]",
    }  # fmt: skip
    return made
