"""Characters of three bytes next to all kinds of neighbours, in vocabularies over characters."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.encode.against_library import assert_ids_of_library
from tests.encode.test_other_models import tokenizer_of
from tests.encode.test_reference_models import BAR, BYTE_TOKENS
from tests.load.sources import write_json
from tests.models import compile_payload

from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = "\u4e2d\u6587\u672c\u4e00\u4e8c\u3002\u201c"
UNKNOWN = "\u9f8d\u9cf3\u0e01\u20ac\uac00\uffe5"
OTHERS = f"ab1. \n\u00e9\u0416\U0001f600\0{BAR}"
UNKNOWN_WAYS: dict[str, dict[str, Any]] = {
    "bytes": {"byte_fallback": True, "unk_token": "<unk>", "fuse_unk": True},
    "unk": {"unk_token": "<unk>", "fuse_unk": False},
    "fused": {"unk_token": "<unk>", "fuse_unk": True},
    "dropped": {"unk_token": None, "fuse_unk": False},
}


def model_of(generator: random.Random, unknown: str, n_merges: int) -> dict[str, Any]:
    """A BPE over characters, with merges between any two of its tokens."""
    letters = [*KNOWN, *f"ab1.\u00e9{BAR}"]
    tokens = ["<unk>", *(BYTE_TOKENS if unknown == "bytes" else []), *letters]
    parts, merges = list(letters), []
    for _ in range(n_merges):
        left, right = generator.choice(parts), generator.choice(parts)
        if len(left + right) <= 6:
            merges.append([left, right])
            parts.append(left + right)
            tokens.append(left + right)
    vocab = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return {"type": "BPE", "vocab": vocab, "merges": merges, **UNKNOWN_WAYS[unknown]}


def rows_of(generator: random.Random) -> list[str]:
    """Texts of several blocks, mostly of three-byte characters, with neighbours of every size."""
    rows = []
    for _ in range(30):
        pool = KNOWN * generator.choice([1, 4]) + UNKNOWN * generator.choice([0, 1, 4])
        pool += OTHERS * generator.choice([0, 1, 1])
        rows.append("".join(generator.choices(pool, k=generator.randint(1, 300))))
    return rows


# Whole texts are merged only where unknown characters have bytes, else words.
@pytest.mark.parametrize("n_merges", [0, 3, 30])
@pytest.mark.parametrize(
    ("setting", "unknown"),
    [("marked", "bytes"), ("replaced", "bytes"), *(("words", way) for way in UNKNOWN_WAYS)],
)
def test_wide_text_in_every_way(tmp_path: Path, setting: str, unknown: str, n_merges: int) -> None:
    generator = random.Random(f"{setting} {unknown} {n_merges}")  # noqa: S311
    data = tokenizer_of(model_of(generator, unknown, n_merges), setting)
    file = write_json(tmp_path, data)
    payload = compile_payload(load_source(file))
    cases = rows_of(generator)
    assert_ids_of_library(file, payload, cases)
