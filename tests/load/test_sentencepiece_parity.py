"""The spec of a SentencePiece file gives what the library gives: natively, and in the reference."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from tests.load.sentencepiece_models import (
    BPE,
    CHAR,
    CONTROL,
    SPACE,
    UNIGRAM,
    UNK,
    USER_DEFINED,
    WORD,
    Piece,
    compiled_charsmap,
    model_file,
    random_model,
    random_text,
    trained,
)
from tests.load.sentencepiece_native import NativeSentencePiece
from tests.reference.sentencepiece import ReferenceSentencePiece
from tests.strategies import EXAMPLES, TEXTS, class_strings

from tokenmill import Tokenizer
from tokenmill._compile import compile_spec
from tokenmill._load.sentencepiece import read_sentencepiece
from tokenmill._model.ready import from_payload

# Those of the model for whole words need the library; the reference knows how they go.
KNOWN_TO_THE_REFERENCE = ("unknown words in a row are one",)
TRAINED: dict[str, dict[str, Any]] = {
    "unigram": {"model_type": "unigram", "vocab_size": 230},
    "unigram with bytes": {"model_type": "unigram", "vocab_size": 480, "byte_fallback": True},
    "unigram, blanks after words": {
        "model_type": "unigram", "vocab_size": 230, "treat_whitespace_as_suffix": True,
    },
    "unigram across blanks": {
        "model_type": "unigram", "vocab_size": 230, "split_by_whitespace": False,
        "normalization_rule_name": "nfkc_cf",
    },
    "bpe": {"model_type": "bpe", "vocab_size": 230},
    "bpe with bytes": {
        "model_type": "bpe", "vocab_size": 480, "byte_fallback": True,
        "normalization_rule_name": "identity", "remove_extra_whitespaces": False,
        "allow_whitespace_only_pieces": True, "user_defined_symbols": ["<sep>", "<sep>>", "  "],
        "control_symbols": ["<ctl>"],
    },
    "bpe without a prefix": {
        "model_type": "bpe", "vocab_size": 230, "add_dummy_prefix": False,
        "user_defined_symbols": ["\u00e9", SPACE * 2],
    },
    "word": {"model_type": "word", "vocab_size": 60},
    "char": {"model_type": "char", "vocab_size": 60, "user_defined_symbols": ["in"]},
}  # fmt: skip


class Twins:
    """The library; the reference and, where it can, the native engine with our spec of the file."""

    def __init__(self, data: bytes) -> None:
        self.library = sentencepiece.SentencePieceProcessor(model_proto=data)
        self.spec = read_sentencepiece(data, "x")
        assert set(self.spec.unsupported) <= set(KNOWN_TO_THE_REFERENCE)
        assert self.spec.unsupported_decode == ()
        self.reference = ReferenceSentencePiece(self.spec)
        self.native = None if self.spec.unsupported else NativeSentencePiece(self.spec)

    def check(self, text: str) -> None:
        ids = self.library.encode(text)
        assert self.reference.encode(text) == ids, text
        self.check_decode(ids)
        if self.native is not None:
            self.native.check(self.library, text)

    def check_decode(self, ids: list[int]) -> None:
        assert self.reference.decode(ids) == self.library.decode(ids), ids
        if self.native is not None:
            self.native.check_decode(self.library, ids)


@pytest.fixture(scope="module")
def charsmap(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compiled_charsmap(tmp_path_factory.mktemp("rules"))


@pytest.fixture(scope="module")
def trained_twins() -> dict[str, Twins]:
    lines = [line for text in EXAMPLES for line in text.split("\n") if line.strip(" \0")]
    clean = [line.replace("\0", "") for line in lines]
    shared = {"character_coverage": 0.98, "hard_vocab_limit": False}
    return {
        name: Twins(trained(clean * 3, **{**shared, **options}))
        for name, options in TRAINED.items()
    }


@pytest.mark.parametrize("name", TRAINED)
def test_trained_models(trained_twins: dict[str, Twins], name: str) -> None:
    twins = trained_twins[name]
    for text in (*EXAMPLES, *class_strings(3, 12, 120)):
        twins.check(text)
        twins.check(f"  {text} {SPACE} <sep>>{text[:9]}<ctl>  ")
    choose = random.Random(9)  # noqa: S311
    for _ in range(60):
        twins.check_decode(choose.choices(range(len(twins.spec.texts)), k=choose.randrange(9)))


@pytest.mark.parametrize("name", ["unigram", "bpe with bytes"])
def test_trained_models_on_any_text(trained_twins: dict[str, Twins], name: str) -> None:
    @settings(max_examples=40)
    @given(TEXTS)
    def check(text: str) -> None:
        trained_twins[name].check(text)

    check()


@pytest.mark.parametrize("model_type", [UNIGRAM, BPE, WORD, CHAR])
def test_random_models(charsmap: bytes, model_type: int) -> None:
    choose = random.Random(model_type)  # noqa: S311
    models = 0
    while models < 40:
        data = random_model(choose, model_type, charsmap)
        if set(read_sentencepiece(data, "x").unsupported) - set(KNOWN_TO_THE_REFERENCE):
            continue
        models += 1
        twins = Twins(data)
        for _ in range(12):
            twins.check(random_text(choose))
            ids = choose.choices(range(len(twins.spec.texts)), k=choose.randrange(8))
            twins.check_decode(ids)


A, B, C = Piece("a", -4.0), Piece("b", -4.0), Piece("c", -4.0)
ULP = 2.0**-23


@pytest.mark.parametrize(
    ("pieces", "model_type", "text", "ids"),
    [
        # Of equal sums the one with the longest last piece stays.
        ([Piece("-", -2.0), Piece("--", -2.0)], UNIGRAM, "---", [1, 2]),
        # Sums are rounded to float32 before they are compared.
        (
            [Piece("a", -1.0), Piece("b", -(1 + 3 * ULP)), Piece("ab", -(2 + 4 * ULP)), C],
            UNIGRAM, "ab", [3],
        ),
        # A user-defined piece has 0.1 for each byte but the first, and can lose.
        ([A, Piece("bc", 0.0, USER_DEFINED), Piece("abc", -3.8)], UNIGRAM, "abc", [3]),
        ([A, Piece("bc", 0.0, USER_DEFINED), Piece("abc", -4.0)], UNIGRAM, "abc", [1, 2]),
        # An unknown character costs ten less than the least score.
        ([Piece("a", 9.0), Piece("az", -5.0), Piece("y", -4.0)], UNIGRAM, "az", [2]),
        ([Piece("a", 11.0), Piece("az", -5.0), Piece("y", -4.0)], UNIGRAM, "az", [1, 0]),
        # Equal scores merge from the left.
        ([A, B, C, Piece("ab", -1.0), Piece("bc", -1.0)], BPE, "abc", [4, 3]),
        ([A, B, C, Piece("ab", -2.0), Piece("bc", -1.0)], BPE, "abc", [1, 5]),
        # A control piece has no text, unless it is a single character of BPE.
        ([A, Piece("aa", 0.0, CONTROL)], BPE, "aa", [1, 1]),
        ([A, Piece("b", 0.0, CONTROL)], BPE, "ab", [1, 2]),
        ([A, Piece("b", 0.0, CONTROL)], UNIGRAM, "ab", [1, 0]),
        # Unknown neighbours are one.
        ([A], BPE, "xyaz", [0, 1, 0]),
        ([A], UNIGRAM, "xyaz", [0, 1, 0]),
    ],
)  # fmt: skip
def test_rules_of_the_library(
    pieces: list[Piece], model_type: int, text: str, ids: list[int]
) -> None:
    twins = Twins(model_file([UNK, *pieces], model_type=model_type))
    assert twins.library.encode(text) == ids
    twins.check(text)


def test_sums_of_a_long_text_are_rounded() -> None:
    # The two ways to cut the word are so close that it is the sum before it that decides.
    pieces = [Piece("a", -1.0), Piece("b", -1.0), Piece("ab", -2.0 - 2.0**-10), Piece(SPACE, -1.3)]
    twins = Twins(model_file([UNK, *pieces]))
    text = "ab " * 9000
    ids = twins.library.encode(text)
    assert len({tuple(ids[:3]), tuple(ids[-3:])}) > 1
    twins.native.check(twins.library, text)  # type: ignore[union-attr]
    twins.native.check(twins.library, text[:6000])  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(6))
def test_sums_that_become_too_large(seed: int) -> None:
    choose = random.Random(seed)  # noqa: S311
    for _ in range(8):
        texts = {"a", "b", "c", SPACE}
        texts |= {"".join(choose.choices("abc", k=choose.randrange(2, 6))) for _ in range(9)}
        scale = choose.choice((-25_000.0, -50_000.0, -33_333.3, -70_000.0, -3_000.0, 25_000.0))
        pieces = [
            Piece(text, scale * len(text) * choose.choice((1, 1, 0.5, 1.25)) + choose.random() / 9)
            for text in sorted(texts)
        ]
        twins = Twins(model_file([UNK, *pieces]))
        for _ in range(8):
            twins.check("".join(choose.choices("abcz ", (5, 5, 5, 1, 2), k=choose.randrange(60))))


def test_long_runs_of_pieces_that_share_a_score() -> None:
    runs = [Piece(SPACE * size, -9.0) for size in (2, 3, 4, 8, 15)]
    words = [Piece("ab", -1.0), Piece("aba", -9.0), Piece("ba", -9.0), Piece("a" * 4, -9.0)]
    pieces = [UNK, Piece(SPACE, -9.0), Piece("a", -9.0), Piece("b", -9.0), *runs, *words]
    twins = Twins(model_file(pieces, model_type=BPE, dummy=True))
    choose = random.Random(3)  # noqa: S311
    for _ in range(40):
        twins.check("".join(choose.choices("ab \u00e9", (4, 2, 3, 1), k=choose.randrange(90))))
        twins.check("".join(choose.choice("aab  ") * choose.randrange(40) for _ in range(60)))
    twins.native.check(twins.library, " " * 3000 + "a" * 3000)  # type: ignore[union-attr]


def test_big_texts_on_many_threads() -> None:
    pieces = [UNK, Piece("a", -1.0), Piece("b", -1.5), Piece("ab", -1.7), Piece(SPACE, -2.0)]
    text = "ab ba\u4e2d\u4e2d aab " * 80_000
    for model_type in (UNIGRAM, BPE):
        data = model_file(pieces, model_type=model_type, remove_extra=True)
        tokenizer = Tokenizer(from_payload(compile_spec(read_sentencepiece(data, "x"))))
        library = sentencepiece.SentencePieceProcessor(model_proto=data)
        assert tokenizer.encode_batch([text], threads=3)[0].tolist() == library.encode(text)
