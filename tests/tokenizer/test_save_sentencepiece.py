"""A SentencePiece model that is saved as a tokenizer.json: exact in `tokenizers`, or refused."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
import tokenizers
from tests.load.sentencepiece_models import (
    BPE,
    BYTES,
    CONTROL,
    SPACE,
    UNIGRAM,
    UNK,
    UNUSED,
    USER_DEFINED,
    Piece,
    model_file,
)
from tests.load.sources import package_file
from tests.offsets.tokenizers_of_every_kind import texts

from tokenmill import Tokenizer, UnsupportedTokenizer
from tokenmill._model.run_merges import merges_of_runs

if TYPE_CHECKING:
    from pathlib import Path

CHARACTERS = [Piece(c, -100.0 - i) for i, c in enumerate("ab\u00e9" + SPACE)]
HARD = ["", " ", "a ", " a", "<s>", "</s> hi", "<0x41>", SPACE, f"a{SPACE}b", "\x00a", "\n\n"]


def saved(data: bytes, directory: Path) -> tuple[Any, Any]:
    """Save a model as a tokenizer.json; return both libraries."""
    source, target = directory / "tokenizer.model", directory / "made.json"
    source.write_bytes(data)
    Tokenizer.load(source).save(target)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    return processor, tokenizers.Tokenizer.from_file(str(target))


def check(processor: Any, library: Any, sample: list[str]) -> None:
    for text in sample:
        ids = processor.encode(text)
        assert library.encode(text, add_special_tokens=False).ids == ids, text
        assert library.decode(ids, skip_special_tokens=False) == processor.decode(ids), text


@pytest.mark.parametrize(
    "name", ["tokenizer.model.v1", "mistral_instruct_tokenizer_240216.model.v2"]
)
def test_genuine_models(name: str, tmp_path: Path) -> None:
    both = saved(package_file("mistral_common", f"data/{name}").read_bytes(), tmp_path)
    runs = [" " * size + end for size in range(70) for end in ("", "x", "  x")]
    check(*both, [*texts(11, 400), *HARD, *runs])
    again = Tokenizer.load(tmp_path / "made.json")
    first = Tokenizer.load(tmp_path / "tokenizer.model")
    for text in [*texts(12, 200), *HARD]:
        assert again.encode(text).tolist() == first.encode(text).tolist()


@pytest.mark.parametrize("seed", range(25))
def test_every_short_text_of_random_models(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)  # noqa: S311
    letters = "ab" + SPACE
    longer = ["".join(w) for size in (2, 3, 4) for w in product(letters, repeat=size)]
    chosen = choose.sample(longer, choose.randrange(3, 30))
    pieces = [UNK, *CHARACTERS, *(Piece(text, -float(i)) for i, text in enumerate(chosen))]
    dummy = choose.random() < 0.5
    data = model_file([*pieces, *BYTES], model_type=BPE, byte_fallback=True, dummy=dummy)
    both = saved(data, tmp_path)
    short = ["".join(w) for size in range(7) for w in product("ab ", repeat=size)]
    check(*both, [*short, *("".join(choose.choices("ab \u00e9\u4e2d", k=30)) for _ in range(99))])


@pytest.mark.parametrize("longest", [2, 4, 8])
def test_runs_of_blanks_that_share_a_score(longest: int, tmp_path: Path) -> None:
    runs = [Piece(SPACE * size, -1e9) for size in range(2, longest + 1)]
    pieces = [UNK, *BYTES, *CHARACTERS, Piece(SPACE + "a", -1.0), *runs]
    data = model_file(pieces, model_type=BPE, byte_fallback=True)
    sample = [" " * size + end for size in range(40) for end in ("", "a", "b", " ab  ba")]
    check(*saved(data, tmp_path), sample)


def test_orders_of_merges_for_runs() -> None:
    assert merges_of_runs(["  ", "    "]) == [(" ", " "), ("  ", "  ")]
    assert merges_of_runs(["  ", "   "]) is None  # the longest is not a power of two
    assert merges_of_runs(["  ", "aa"]) is None


A, AB = Piece("a", -9.0), Piece("ab", -1.0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (model_file([UNK, A, AB], model_type=UNIGRAM), "only BPE models"),
        (model_file([UNK, *CHARACTERS, AB], model_type=BPE), "no byte pieces"),
        (model_file([UNK, *CHARACTERS, AB], model_type=BPE, remove_extra=True), "extra blanks"),
        (model_file([UNK, *CHARACTERS, AB], model_type=BPE, escape=False), "escape blanks"),
        (model_file([UNK, *CHARACTERS, AB], model_type=BPE, suffix=True), "after words"),
        (model_file([UNK, *CHARACTERS, Piece("x", 0, USER_DEFINED)], model_type=BPE), "user-def"),
        (model_file([UNK, *CHARACTERS, AB, Piece("ba", -1.0)], model_type=BPE), "equal score"),
        (model_file([UNK, *CHARACTERS, Piece("ab", 0, UNUSED)], model_type=BPE), "unused pieces"),
    ],
)
@pytest.mark.filterwarnings("ignore::tokenmill.ReferencePathWarning")
def test_models_that_no_tokenizer_json_can_express(
    data: bytes, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UnsupportedTokenizer, match=reason) as caught:
        saved(data, tmp_path)
    assert "save it as a .model file" in str(caught.value)
    assert not (tmp_path / "made.json").exists()


def test_special_tokens_around_texts_become_a_template(tmp_path: Path) -> None:
    pieces = [UNK, Piece("<s>", 0, CONTROL), Piece("</s>", 0, CONTROL), *CHARACTERS, AB]
    config = {"add_bos_token": True, "add_eos_token": False, "bos_token": "<s>",
              "eos_token": "</s>", "tokenizer_class": "LlamaTokenizer"}  # fmt: skip
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    data = model_file([*pieces, *BYTES], model_type=BPE, byte_fallback=True, dummy=True)
    _, library = saved(data, tmp_path)
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.model")
    for text in ("ab", "", "a b"):
        expected = tokenizer.encode(text, add_special_tokens=True).tolist()
        assert library.encode(text).ids == expected
