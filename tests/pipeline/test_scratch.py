"""Documents that are rewritten on the way: transcoded, repaired, normalized, prefixed.

Each rewrite needs memory while the text before it is still being read, so texts here are longer
than what a worker keeps at hand, and every rewrite meets every other.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from tests.load.sources import BYTE_LEVEL, BYTES, added, tokenizer_json, write_json
from tests.models import assert_same, compile_payload, make_model, run_batch, ways
from tests.vocabularies import flat

from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._spec import TokenizerSpec

NORMALIZERS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "nfc": {"type": "NFC"},
    "nfd": {"type": "NFD"},
    "lowercase": {"type": "Lowercase"},
    "longer": {"type": "Replace", "pattern": {"String": " "}, "content": "____"},
    "prepend": {"type": "Prepend", "prepend": "_"},
}
SHAPES = {
    "tokens close together": "E\u0301 {i}<s>",
    "normalized tokens close together": "A {i}<n>",
    "tokens and blanks": "\u00e9      {i} <s> <n>",
    "hardly any tokens": "Caf\u00e9 E\u0301 \u4e2d {i}",
    "latin-1": "\u00c9t\u00e9 {i} <s>",
    "ascii": "The Word {i} <s>",
}
COUNTS = (10, 9000)  # the latter is longer than the 128 KiB that a worker begins with


def definition(normalizer: str, *, prefix: bool) -> dict[str, Any]:
    vocab = {**BYTES, "th": 256, "\u0120th": 257, "12": 258, "__": 259}
    return tokenizer_json(
        vocab=vocab,
        merges=["t h", "\u0120 th", "1 2", "_ _"],
        added=[
            added("<s>", 260),
            added("<n>", 261, special=False, normalized=True),
        ],
        normalizer=NORMALIZERS[normalizer],
        pre_tokenizer={**BYTE_LEVEL, "add_prefix_space": prefix},
    )


@cache
def texts_of(shape: str) -> list[str]:
    return ["".join(SHAPES[shape].format(i=i) for i in range(count)) for count in COUNTS]


def load(data: dict[str, Any], directory: Path) -> TokenizerSpec:
    return load_source(write_json(directory, data))


@pytest.mark.parametrize("prefix", [False, True], ids=["", "prefix"])
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_rewritten_texts_of_every_size(normalizer: str, prefix: bool, tmp_path: Path) -> None:
    data = definition(normalizer, prefix=prefix)
    library = tokenizers.Tokenizer.from_str(json.dumps(data))
    payload = compile_payload(load(data, tmp_path))
    texts = [text for shape in SHAPES for text in texts_of(shape)]
    found = library.encode_batch_fast(texts, add_special_tokens=False)
    expected = flat([one.ids for one in found])
    for way in ways((1, 2))[-3:]:
        model = make_model(payload, way)
        for kind in (texts, [text.encode() for text in texts]):
            assert_same(run_batch(model, kind, way.threads), expected, texts, way)


def test_repaired_texts_of_every_size(tmp_path: Path) -> None:
    """A fault at the front makes the whole text move to other memory."""
    payload = compile_payload(load(definition("longer", prefix=True), tmp_path))
    for way in ways((1, 2)):
        model = make_model(payload, way)
        for shape in SHAPES:
            broken = [b"\xff" + text.encode() for text in texts_of(shape)]
            whole = [text.decode(errors="replace") for text in broken]
            got = model.encode_batch(broken, way.threads, 32, False, 0, 1)
            assert_same(got, run_batch(model, whole), whole, (shape, way))
