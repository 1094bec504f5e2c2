"""Texts without a split, cut where no token joins two bytes: classes, and exceptions to them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.encode.against_library import assert_ids_of_library
from tests.encode.test_lone_characters import UNKNOWN_WAYS
from tests.encode.test_other_models import tokenizer_of
from tests.encode.test_reference_models import BAR, BYTE_TOKENS
from tests.load.sources import write_json
from tests.models import compile_payload

from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

# One byte of each class and more; the bar is what blanks are written as.
SYMBOLS = f"abZ019.->/:\n\t\r{BAR}\u00e9\u4e2d"
# More distinct left sides than the eight bits that a byte of the pair tables has.
LEFT_SIDES = "a1.>-\n\t\r/:"


def model_of(pairs: list[str]) -> dict[str, Any]:
    """A BPE over characters whose only merges are these pairs."""
    tokens = ["<unk>", *BYTE_TOKENS, *SYMBOLS, *pairs]
    vocab = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    merges = [[pair[0], pair[1]] for pair in dict.fromkeys(pairs)]
    return {"type": "BPE", "vocab": vocab, "merges": merges, **UNKNOWN_WAYS["bytes"]}


def pairs_of(generator: random.Random, count: int) -> list[str]:
    """Pairs of different bytes of few classes, so that most of them are exceptions."""
    lefts = generator.sample(LEFT_SIDES, min(count, len(LEFT_SIDES)))
    lefts += generator.choices(SYMBOLS, k=count - len(lefts))
    return [left + generator.choice(SYMBOLS) for left in lefts]


@pytest.mark.parametrize("setting", ["marked", "replaced"])
@pytest.mark.parametrize("count", [0, 1, 4, 8, 10, 40])
def test_pairs_of_bytes(tmp_path: Path, setting: str, count: int) -> None:
    generator = random.Random(f"{setting} {count}")  # noqa: S311
    for number in range(4):
        data = tokenizer_of(model_of(pairs_of(generator, count)), setting)
        (tmp_path / str(number)).mkdir()
        file = write_json(tmp_path / str(number), data)
        payload = compile_payload(load_source(file))
        text = f"{SYMBOLS.replace(BAR, '')} \U0001f600\u0416"
        cases = ["".join(generator.choices(text, k=generator.randint(1, 300))) for _ in range(30)]
        assert_ids_of_library(file, payload, cases)
