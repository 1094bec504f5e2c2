"""Requests of about so many tokens from a real text, and the answers that all must give."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

CHARACTERS = 12_000_000


@dataclass(frozen=True)
class Requests:
    """Files with one body, and one answer, in each line."""

    name: str
    tokens: int
    bodies: Path
    answers: Path
    connections: int


def make_requests(
    tokenizer: Path, text: Path, folder: Path, max_model_len: int
) -> dict[str, Requests]:
    """Write 256 prompts of 1k tokens and 32 of 32k; the answers are those of `tokenizers`."""
    with lzma.open(text) if text.suffix == ".xz" else text.open("rb") as file:
        words = file.read(CHARACTERS).decode(errors="ignore")
    reference = Tokenizer.from_file(str(tokenizer))
    made = {}
    for name, tokens, count, connections in (("1k", 1000, 256, 32), ("32k", 32_000, 32, 8)):
        size = tokens * 45 // 10
        prompts = [words[i * size : (i + 1) * size] for i in range(count)]
        found = Requests(name, tokens, folder / f"{name}.bodies", folder / f"{name}.answers",
                         connections)  # fmt: skip
        encoded = [reference.encode(prompt).ids for prompt in prompts]
        found.bodies.write_text("".join(json.dumps({"prompt": p}) + "\n" for p in prompts))
        lines = (
            {"count": len(ids), "max_model_len": max_model_len, "tokens": ids, "token_strs": None}
            for ids in encoded
        )
        texts = (json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        found.answers.write_text("".join(texts))
        made[name] = found
    return made
