"""Words of every table's length, at every place of the blocks that they are picked out of."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import tokenizers
from tests.encode.test_long_words import chain_merges, definition
from tests.load.sources import write_json
from tests.models import TINY, Way, assert_same, compile_payload, make_model, run_batch
from tests.vocabularies import flat

from tokenmill import _core
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK = 64
# Around the borders of the tables (8, 16 and 32 bytes) and of the block.
SIZES = (1, 2, 7, 8, 9, 10, 15, 16, 17, 18, 24, 31, 32, 33, 62, 63, 64, 65, 66, 130)
# A NUL may not end a key, and a key may not start with eight of them.
WITH_NULS = (
    "\0",
    "!\0",
    "\0" * 8 + "!",
    "\0" * 9,
    "\0" * 7 + "!!",
    "!" * 8 + "\0",
    "\0" * 20 + "!",
)
TARGETS = _core.targets()
WAYS = [Way(target, *rest) for target in TARGETS for rest in ((1,), (2,), (1, TINY))]
LETTERS = "abc"


def test_words_at_every_place(tmp_path: Path) -> None:
    rng = random.Random(64)  # noqa: S311
    check([*placed_words(rng), *full_blocks(rng)], tmp_path)


def placed_words(rng: random.Random) -> Iterator[str]:
    """Text up to a place, a word that starts there, and text after it."""
    for place in range(BLOCK + 3):
        front = (" ab c" * BLOCK)[: place - 1] + " " * (place > 0)
        for size in SIZES:
            word = "".join(rng.choices(LETTERS, k=size))
            yield f"{front}{word} {rng.choice(LETTERS)} bc ca"
        for word in WITH_NULS:
            yield f"{front}{word} a{word}b"


def full_blocks(rng: random.Random) -> Iterator[str]:
    """Blocks with more words of a kind than are picked out at once."""
    for size in (1, 2, 3, 8, 9, 10, 12, 15, 16, 20):
        words = ["".join(rng.choices(LETTERS, k=size)) for _ in range(5)]
        yield " ".join(rng.choices(words, k=300))
        yield " ".join(rng.choices(["a", "cb", *words], k=300))
    yield "a1" * 300
    yield "a1!" * 300


def check(texts: list[str], directory: Path) -> None:
    rng = random.Random(len(texts))  # noqa: S311
    data = definition(chain_merges(rng, LETTERS + "!", 120, 20))
    data["pre_tokenizer"]["use_regex"] = True
    library = tokenizers.Tokenizer.from_str(json.dumps(data))
    expected = flat([one.ids for one in library.encode_batch_fast(texts)])
    compiled = compile_payload(load_source(write_json(directory, data)))
    for way in WAYS:
        model = make_model(compiled, way)
        for _ in range(3):  # later passes: from the tables
            assert_same(run_batch(model, texts, way.threads), expected, texts, way)
