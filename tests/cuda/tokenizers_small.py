"""Small tokenizers for the tests of the GPU path, and texts that have something of everything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.conftest import small_definition

if TYPE_CHECKING:
    from pathlib import Path

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PIECES = (
    "hello", " world", " ", "  ", "\n", "\r\n", "'s", "'LL", "1234", "..", "<s>", "</s>", "<tool>",
    "caf\u00e9", "cafe\u0301", "\u4e2d\u6587", "\U0001f600", "\u3000", "Hello", "x" * 70, "tab\t",
)  # fmt: skip


def composing_definition() -> dict[str, Any]:
    """Return a tokenizer.json with NFC, another split, a token that is not special, a template."""
    definition = small_definition()
    definition["normalizer"] = {"type": "NFC"}
    split = {"type": "Split", "pattern": {"Regex": CL100K}, "behavior": "Isolated", "invert": False}
    byte_level = {**definition["pre_tokenizer"], "use_regex": False}
    definition["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    first = definition["added_tokens"][0]
    definition["added_tokens"].append(
        {**first, "id": first["id"] + 2, "content": "<tool>", "special": False}
    )
    after = {"SpecialToken": {"id": "</s>", "type_id": 0}}
    processor = definition["post_processor"]
    processor["single"].append(after)
    processor["special_tokens"]["</s>"] = {
        "id": "</s>", "ids": [first["id"] + 1], "tokens": ["</s>"],
    }  # fmt: skip
    return definition


def write(folder: Path, definition: dict[str, Any]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(definition))
    return path


def random_texts(count: int, seed: int = 0, most: int = 30) -> list[str]:
    """Make texts of random pieces, some of them empty."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, most, count)
    return ["".join(random.choice(PIECES, size)) for size in sizes]
