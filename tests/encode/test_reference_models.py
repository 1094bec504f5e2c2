"""The slow encoders of every model against `tokenizers`, on small random models."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.load.sources import BYTE_LEVEL, BYTES, added, tokenizer_json, write_json
from tests.reference.spec_encoder import SpecEncoder
from tokenizers import Tokenizer

from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BAR = "\u2581"
LETTERS = f"abc{BAR}\u00e9\u4e2d"
STRANGE = "xyz!\t\x00\u0301\u200d\u2028\ud7ff\ue000\ufeff\ufffd\U0001f469\U00020000\U0010ffff"
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
SPACE = {"type": "Metaspace", "replacement": BAR}
PRE_TOKENIZERS: tuple[dict[str, Any] | None, ...] = (
    None,
    SPACE,
    {**SPACE, "prepend_scheme": "first", "split": False},
    {"type": "WhitespaceSplit"},
    {"type": "BertPreTokenizer"},
)


def texts(generator: random.Random, fragments: list[str], count: int) -> list[str]:
    found = ["", " "]
    for _ in range(count):
        pool = [*fragments, *"abc", " ", BAR, *generator.choices(STRANGE, k=4), LETTERS[-1]]
        found.append("".join(generator.choices(pool, k=generator.randint(1, 12))))
    return found


def words(generator: random.Random, count: int) -> list[str]:
    return ["".join(generator.choices(LETTERS, k=generator.randint(1, 4))) for _ in range(count)]


def ids_of(tokens: list[str], generator: random.Random) -> dict[str, int]:
    unique = list(dict.fromkeys(tokens))
    return dict(zip(unique, generator.sample(range(len(unique)), len(unique)), strict=True))


def character_bpe(generator: random.Random) -> dict[str, Any]:
    known = generator.sample(LETTERS, generator.randint(2, len(LETTERS)))
    suffix = generator.choice([None, None, "</w>"])
    tokens = [*known, "<unk>"]
    if suffix:
        tokens += [f"{letter}{suffix}" for letter in known if generator.random() < 0.8]
    merges: list[list[str]] = []
    for _ in range(generator.randint(0, 12)):
        left, right = generator.choice(tokens), generator.choice(tokens)
        if not (suffix and left.endswith(suffix)):
            tokens.append(left + right)
            merges.append([left, right])
    fallback = generator.random() < 0.4 and not suffix
    return {
        "type": "BPE",
        "unk_token": generator.choice([None, "<unk>", known[0]]),
        "fuse_unk": generator.random() < 0.5,
        "byte_fallback": fallback,
        "end_of_word_suffix": suffix,
        "ignore_merges": generator.random() < 0.3,
        "vocab": ids_of([*tokens, *(BYTE_TOKENS if fallback else [])], generator),
        "merges": merges,
    }


def wordpiece(generator: random.Random) -> dict[str, Any]:
    prefix = generator.choice(["##", "##", "", "a"])
    tokens = ["[UNK]", *words(generator, 10), *(f"{prefix}{word}" for word in words(generator, 10))]
    return {
        "type": "WordPiece",
        "unk_token": generator.choice(["[UNK]", tokens[1]]),
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": generator.choice([0, 3, 100]),
        "vocab": ids_of(tokens, generator),
    }


def wordlevel(generator: random.Random) -> dict[str, Any]:
    vocab = ids_of(["[UNK]", *words(generator, 10), *LETTERS], generator)
    return {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab}


def unigram(generator: random.Random) -> dict[str, Any]:
    # Few different scores make ties; positive ones make unknowns better than pieces.
    shift = generator.choice([0.0, 0.0, 15.0])
    pieces = ["<unk>", *words(generator, 12), *generator.sample(LETTERS, 4), *words(generator, 2)]
    fallback = generator.random() < 0.5
    pieces += BYTE_TOKENS if fallback else []
    return {
        "type": "Unigram",
        "unk_id": generator.choice([0, 0, 1]),
        "byte_fallback": fallback,
        "vocab": [
            [piece, shift - generator.choice([1, 2, 3, 4, 0.1, 0.2, 0.3, generator.random()])]
            for piece in pieces
        ],
    }


def check(path: Path, data: dict[str, Any], generator: random.Random, count: int) -> None:
    spec = load_source(write_json(path, data))
    assert spec.unsupported == ()
    mine = SpecEncoder(spec)
    library = Tokenizer.from_str(json.dumps(data))
    fragments = ["<unk>", "[UNK]", "<0x41>", "</w>", "##a", "<s>", *words(generator, 4)]
    for text in texts(generator, fragments, count):
        expected = library.encode(text, add_special_tokens=False).ids
        assert mine.encode(text) == expected, (text, data["model"])


@pytest.mark.parametrize("build", [character_bpe, wordpiece, wordlevel, unigram])
def test_small_models_agree(
    tmp_path: Path, build: Callable[[random.Random], dict[str, Any]]
) -> None:
    generator = random.Random(build.__name__)  # noqa: S311
    for _ in range(60):
        model = build(generator)
        token = added("<s>", len(model["vocab"]), normalized=generator.random() < 0.5)
        data = tokenizer_json(
            pre_tokenizer=generator.choice(PRE_TOKENIZERS), added=[token], decoder=None
        )
        check(tmp_path, {**data, "model": model}, generator, count=50)


def test_a_suffix_over_bytes_agrees(tmp_path: Path) -> None:
    generator = random.Random(17)  # noqa: S311
    ends = {f"{character}</w>": 256 + byte for character, byte in BYTES.items()}
    for _ in range(20):
        vocab = {**BYTES, **ends}
        for gone in generator.sample(list(vocab), generator.choice([0, 40])):
            del vocab[gone]
        merges = []
        for left, right in (("a", "b"), ("ab", "c</w>"), ("b", "c</w>"), ("c", "a")):
            if left in vocab and right in vocab:
                vocab[left + right] = 600 + len(vocab)
                merges.append([left, right])
        model = {"end_of_word_suffix": "</w>"}
        data = tokenizer_json(vocab=vocab, merges=merges, pre_tokenizer=BYTE_LEVEL, model=model)
        check(tmp_path, data, generator, count=80)
