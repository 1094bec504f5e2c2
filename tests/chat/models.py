"""One small tokenizer with control tokens, here and in `transformers`, and conversations."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import tokenizers
import transformers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from tokenmill import Tokenizer

SPECIAL = (
    "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|sep|>", "<|user|>", "<|assistant|>",
    "<|system|>", "<|tool|>", "<|end|>", "[INST]", "[/INST]",
)  # fmt: skip
OTHER = ("<think>", "</think>", "<tool_call>", "</tool_call>", "  ", "\n")
WORDS = (
    "Hi", " there", "  ", "\n", "\u4e2d\u6587", "caf\u00e9", "<b>", "|", "<|", "|>", "x", "[x]",
    " \t", "?", "think", "1,2", "{}",
)  # fmt: skip
TOOLS = [
    {
        "type": "function",
        "function": {"name": "add", "description": "a + b", "parameters": {"type": "object"}},
    }
]


@cache
def library_tokenizer() -> transformers.PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("H", "i"), ("t", "h"), ("th", "i"), ("<", "|"), ("|", ">")]
    vocab = {token: i for i, token in enumerate([*alphabet, *map("".join, merges)])}
    made = tokenizers.Tokenizer(models.BPE(vocab, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(name, normalized=False) for name in SPECIAL])
    made.add_tokens([AddedToken(name, normalized=False) for name in OTHER])
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **tokens)


@cache
def own_tokenizer() -> Tokenizer:
    return Tokenizer.load(library_tokenizer())


def control_ids() -> set[int]:
    return set(own_tokenizer().special_tokens.values())


def random_chat(seed: int, words: tuple[str, ...] = WORDS) -> list[dict[str, Any]]:
    """A conversation whose texts are made of words; the last message is the assistant's or not."""
    rng = random.Random(seed)  # noqa: S311

    def text() -> str:
        return "".join(rng.choice(words) for _ in range(rng.randint(1, 6))) + "."

    chat = [{"role": "system", "content": text()}] if rng.random() < 0.4 else []
    for turn in range(rng.randint(1, 5)):
        chat.append({"role": ("user", "assistant")[turn % 2], "content": text()})
        if turn % 2 and rng.random() < 0.5:
            chat[-1][rng.choice(("reasoning_content", "thinking"))] = text()
    return chat
