"""The "model" section of every kind, checked against what `tokenizers` makes of the same file."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.load.sources import BYTES, added, tokenizer_json, write_json
from tokenizers import Tokenizer

from tokenmill._errors import LoadError
from tokenmill._load.source import load_source
from tokenmill._spec import (
    BpeModel,
    OpaqueModel,
    UnigramModel,
    WordLevelModel,
    WordPieceModel,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._spec import TokenizerSpec

TWO = {"a": 0, "b": 1}
BYTE_TOKENS = {f"<0x{byte:02X}>": byte for byte in range(256)}
PIECES = [["<unk>", 0.0], ["a", -1.0], ["ab", -2]]
WORDPIECE = {
    "unk_token": "a",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 7,
    "vocab": {**TWO, "##b": 2, "\u00e9": 4},
}


def load(tmp_path: Path, model: dict[str, Any], **sections: Any) -> TokenizerSpec:
    data = tokenizer_json(**{"pre_tokenizer": None, **sections})
    return load_source(write_json(tmp_path, {**data, "model": model}))


def is_taken(model: dict[str, Any]) -> bool:
    data = {**tokenizer_json(pre_tokenizer=None), "model": model}
    try:
        Tokenizer.from_str(json.dumps(data))
    except Exception:
        return False
    return True


def test_wordpiece_is_read(tmp_path: Path) -> None:
    spec = load(tmp_path, WORDPIECE, added=[added("[CLS]", 4)])
    model = spec.model
    assert isinstance(model, WordPieceModel)
    assert model.tokens == (b"a", b"b", b"##b", None, "\u00e9".encode())
    assert (model.unk_id, model.prefix, model.max_characters) == (0, b"##", 7)
    assert spec.kind == "wordpiece"
    assert spec.unsupported == ()
    assert spec.texts == ("a", "b", "##b", None, "[CLS]")  # the library counts entries, not ids


def test_wordlevel_is_read(tmp_path: Path) -> None:
    spec = load(tmp_path, {"type": "WordLevel", "unk_token": "b", "vocab": TWO})
    assert isinstance(spec.model, WordLevelModel)
    assert (spec.model.tokens, spec.model.unk_id) == ((b"a", b"b"), 1)
    assert (spec.unsupported, spec.texts) == ((), ("a", "b"))


def test_unigram_is_read(tmp_path: Path) -> None:
    pieces = [*PIECES, ["a", -3.0], ["", -4.0]]
    spec = load(tmp_path, {"type": "Unigram", "unk_id": 0, "vocab": pieces})
    model = spec.model
    assert isinstance(model, UnigramModel)
    assert model.tokens == (b"<unk>", None, b"ab", b"a", None)
    assert model.scores.dtype == np.float64
    assert model.scores.tolist() == [0.0, -1.0, -2.0, -3.0, -4.0]
    assert (model.unk_id, model.byte_ids, model.whole_text) == (0, None, False)
    assert spec.unsupported == ()


def test_equal_pieces_count_for_the_ids_of_added_tokens(tmp_path: Path) -> None:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [*PIECES, ["a", -3.0]]}
    spec = load(tmp_path, model, added=[added("<s>", 4)])
    assert (spec.added_tokens[0].id, spec.notes, spec.vocab_size) == (4, (), 5)


def test_bpe_over_characters_is_read(tmp_path: Path) -> None:
    vocab = {**BYTE_TOKENS, "\u2581": 256, "a": 257, "\u2581a": 258}
    section = {
        "type": "BPE",
        "unk_token": "a",
        "fuse_unk": True,
        "byte_fallback": True,
        "vocab": vocab,
        "merges": [["\u2581", "a"]],
    }
    spec = load(tmp_path, section, added=[added("<s>", 259)])
    model = spec.model
    assert isinstance(model, BpeModel)
    assert model.symbols == "characters"
    assert model.tokens[0] == b"<0x00>"
    assert model.tokens[258] == "\u2581a".encode()
    assert model.byte_ids == tuple(range(256))
    assert (model.unk_id, model.fuse_unk, model.suffix) == (257, True, b"")
    assert model.merges is not None
    assert model.merges.tolist() == [[256, 257]]
    assert spec.texts[-2:] == ("\u2581a", "<s>")
    assert model.decode_bytes[-2:] == ("\u2581a".encode(), b"<s>")
    assert spec.unsupported == ()


def test_a_suffix_belongs_to_the_model(tmp_path: Path) -> None:
    vocab = {**BYTES, **{f"{c}</w>": 256 + byte for c, byte in BYTES.items()}}
    parts = {"end_of_word_suffix": "</w>", "unk_token": "a"}
    spec = load_source(write_json(tmp_path, tokenizer_json(vocab=vocab, model=parts)))
    assert isinstance(spec.model, BpeModel)
    assert (spec.model.symbols, spec.model.suffix) == ("bytes", b"</w>")
    assert spec.unsupported == ()
    del vocab["x</w>"]
    spec = load_source(write_json(tmp_path, tokenizer_json(vocab=vocab, model=parts)))
    assert "0x78" in spec.unsupported[0]


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ({"vocab": TWO, "merges": []}, "bpe"),
        ({**WORDPIECE, "merges": []}, "bpe"),
        (WORDPIECE, "wordpiece"),
        ({"vocab": TWO, "unk_token": "a", "max_input_chars_per_word": 100}, "wordlevel"),
        ({"vocab": TWO, "unk_token": "a"}, "wordlevel"),
        ({"vocab": PIECES}, "unigram"),
        ({"vocab": PIECES, "unk_id": 0}, "unigram"),
    ],
)
def test_a_model_without_type_is_what_the_library_takes_it_for(
    tmp_path: Path, section: dict[str, Any], kind: str
) -> None:
    data = {**tokenizer_json(pre_tokenizer=None), "model": section}
    library = Tokenizer.from_str(json.dumps(data)).model
    assert load(tmp_path, section).kind == kind == type(library).__name__.lower()


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"vocab": TWO}, "model: expected a type, or members that imply it"),
        ({"type": None, "vocab": PIECES}, "model.type: expected a string, got None"),
        ({"type": [], "vocab": PIECES}, "model.type: expected a string"),
        ({"vocab": TWO, "merges": None}, "model: expected a type"),
        ({"type": "WordPiece", "unk_token": "a", "vocab": TWO}, "continuing_subword_prefix: exp"),
        ({**WORDPIECE, "type": "WordPiece", "max_input_chars_per_word": -1}, "from 0 on, got -1"),
        (
            {**WORDPIECE, "type": "WordPiece", "max_input_chars_per_word": 1.0},
            "a whole number, got 1.0",
        ),
        ({"type": "WordLevel", "vocab": TWO}, "model.unk_token: expected a string, got nothing"),
        ({"type": "Unigram", "vocab": TWO}, "model.vocab: expected an array"),
        ({"type": "Unigram", "vocab": [["a"]]}, r"model.vocab\[0\]: expected \[piece, score\]"),
        ({"type": "Unigram", "vocab": [*PIECES, ["b", "1"]]}, r"model.vocab\[3\]"),
        ({"type": "Unigram", "vocab": [*PIECES, [["b"], 1]]}, r"model.vocab\[3\]"),
        ({"type": "Unigram", "vocab": [*PIECES, 7]}, r"model.vocab\[3\]"),
        ({"type": "Unigram", "vocab": [*PIECES, ["b", True]]}, r"model.vocab\[3\]"),
        ({"type": "Unigram", "vocab": [*PIECES, ["b", float("nan")]]}, "finite"),
        ({"type": "Unigram", "vocab": [*PIECES, ["b", 10**400]]}, "finite"),
        ({"type": "Unigram", "vocab": PIECES, "unk_id": 3}, "one of 3 pieces, got 3"),
        ({"type": "Unigram", "vocab": PIECES, "unk_id": -1}, "one of 3 pieces, got -1"),
        ({"type": "Unigram", "vocab": PIECES, "byte_fallback": None}, "byte_fallback: expected"),
        ({"type": "BPE", "vocab": {"\ud800": 0}, "merges": []}, "lone surrogate"),
        ({"type": "WordLevel", "vocab": {"\ud800": 0}, "unk_token": "\ud800"}, "lone surrogate"),
        ({"type": "Unigram", "vocab": [["\ud800", 0]]}, "lone surrogate"),
    ],
)
def test_a_model_the_library_refuses_is_an_error(
    tmp_path: Path, section: dict[str, Any], problem: str
) -> None:
    assert not is_taken(section)
    with pytest.raises(LoadError, match=problem):
        load(tmp_path, section)


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({**WORDPIECE, "unk_token": "?"}, "unk_token '[?]' is not in the vocabulary"),
        ({**WORDPIECE, "vocab": {"a": 0, "b": 0}}, "share an id"),
        ({**WORDPIECE, "vocab": {"a": 0, "b": 9999}}, "ids up to 9999"),
        ({"vocab": TWO, "unk_token": "?"}, "unk_token '[?]' is not in the vocabulary"),
        ({"vocab": PIECES}, "unk_id is null"),
        ({"vocab": [*PIECES, ["<0x41>", 0]], "unk_id": 0, "byte_fallback": True}, "1 of 256"),
        ({"vocab": {**TWO, "<0x41>": 2}, "merges": [], "byte_fallback": True}, "1 of 256"),
        ({"vocab": TWO, "merges": [], "unk_token": "?"}, "unk_token '[?]' is not in the voc"),
        ({"vocab": TWO, "merges": [], "dropout": 0.5}, "random"),
        ({"vocab": TWO, "merges": [], "continuing_subword_prefix": "@"}, "subword_prefix"),
        (
            {"vocab": TWO, "merges": [], "end_of_word_suffix": "w", "byte_fallback": True},
            "byte_fallback with an end_of_word_suffix",
        ),
    ],
)
def test_a_model_that_only_the_library_can_run_says_why(
    tmp_path: Path, section: dict[str, Any], reason: str
) -> None:
    assert is_taken(section)
    spec = load(tmp_path, section)
    assert any(reason.replace("[?]", "?") in text for text in spec.unsupported)


def test_what_no_table_can_hold_is_opaque(tmp_path: Path) -> None:
    spec = load(tmp_path, {"vocab": {"a": 0, "b": 0}, "unk_token": "a"}, added=[added("<s>", 2)])
    assert spec.model == OpaqueModel(1)
    assert spec.vocab_size == 3


def test_no_byte_tokens_are_no_fallback(tmp_path: Path) -> None:
    section = {"vocab": TWO, "merges": [], "unk_token": "a", "byte_fallback": True}
    spec = load(tmp_path, section)
    assert isinstance(spec.model, BpeModel)
    assert (spec.model.byte_ids, spec.unsupported) == (None, ())


def literals(count: int) -> list[str]:
    generator = random.Random(3)  # noqa: S311
    forms = ("{!r}", "{:.20f}", "{:.25e}", "{:.9g}", "{:.18g}", "{:.40f}", "{:.30E}")
    found = ["0", "-0", "0.0", "-0.0", "1e0", "-1E-400", "0e99999999999", "5e-324", "-12"]
    found += ["0." + "0" * 400 + "1", "18446744073709551615.5", "184467440737095516159"]
    for _ in range(count):
        value = generator.choice(
            [-generator.random() * 20, generator.random() * 10 ** generator.randint(-320, 300)]
        )
        found.append(generator.choice(forms).format(value))
        found.append(str(int(generator.random() * 10 ** generator.randint(0, 40))))
    return found


def test_scores_are_the_bits_that_the_library_reads(tmp_path: Path) -> None:
    numbers = literals(3000)
    entries = ",".join(f'["t{i}",{number}]' for i, number in enumerate(numbers))
    shell = json.dumps({**tokenizer_json(pre_tokenizer=None), "model": "MODEL"})
    text = shell.replace('"MODEL"', f'{{"unk_id":0,"vocab":[{entries}]}}')
    path = tmp_path / "tokenizer.json"
    path.write_text(text, "utf-8")
    library = Tokenizer.from_str(text)
    # What the library writes is exact: reading it as Python does gives the very numbers.
    expected = [score for _, score in json.loads(library.to_str())["model"]["vocab"]]
    model = load_source(path).model
    assert isinstance(model, UnigramModel)
    assert model.scores.tolist() == expected
    assert expected != [float(number) for number in numbers]
    loaded = load_source(library).model
    assert isinstance(loaded, UnigramModel)
    assert loaded.scores.tolist() == expected


@pytest.mark.parametrize("number", ["1e309", "-2E999999999999", "1" * 4000, "1" * 5000])
def test_a_score_out_of_range_is_an_error(tmp_path: Path, number: str) -> None:
    text = json.dumps(tokenizer_json(model={"type": "Unigram", "unk_id": 0, "vocab": [["a", 777]]}))
    path = tmp_path / "tokenizer.json"
    path.write_text(text.replace("777", number), "utf-8")
    with pytest.raises(LoadError):
        load_source(path)
