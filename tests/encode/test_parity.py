"""The ids of genuine vocabularies are those of the libraries they were made for."""

from __future__ import annotations

import random
import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models import ENCODE, TINY, Way, assert_same, make_model, run_batch, ways
from tests.strategies import (
    ALPHABET,
    CORE_ALPHABET,
    EXAMPLES,
    TEXTS,
    class_strings,
    hostile_texts,
    in_context,
    shifted,
    short_texts,
)
from tests.vocabularies import (
    JSON_NAMES,
    NAMES,
    check_parity,
    flat,
    json_tokenizer,
    library,
    payload,
    spec,
)

from tokenmill import _core
from tokenmill._spec import BpeModel

FASTEST = _core.targets()[-1]
ONCE = [Way(target) for target in _core.targets()]
SURROGATES = range(0xD800, 0xE000)


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    check_parity(name, EXAMPLES)


@pytest.mark.parametrize("name", NAMES)
def test_examples_at_every_place_of_a_block(name: str) -> None:
    check_parity(name, shifted(EXAMPLES[2:], range(131)), ONCE)


# The library's inner encoding of tekken knows no special tokens.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "tekken"])
def test_special_tokens_in_text_are_tokens(name: str) -> None:
    tokens = [t.content for t in spec(name).added_tokens][:40]
    texts = [f"a{t}b {t} {t}{t}\n{t[:-1]}{t}{t[1:]}" for t in tokens]
    texts += shifted([f" {t}x" for t in tokens[:4]], range(70))
    check_parity(name, [*EXAMPLES, *texts], special=ENCODE)
    check_parity(name, texts)


@pytest.mark.parametrize("name", JSON_NAMES)
def test_special_tokens_around_the_text(name: str) -> None:
    rows = [one.ids for one in json_tokenizer(name).encode_batch(EXAMPLES)]
    for way in ways():
        ids, offsets = make_model(payload(name), way).encode_batch(
            EXAMPLES, way.threads, 32, True, ENCODE, 0
        )
        assert_same((ids, offsets), flat(rows), EXAMPLES, (name, way))


# Ideographs and syllables: thousands of a kind side by side.
CROWDS = [(0x3400, 0xA000), (0xAC00, 0xD7A4), (0x17000, 0x18D80), (0x1B170, 0x1B2FC)]
CROWDS += [(0x20000, 0x32400)]


def is_common(code_point: int) -> bool:
    """Assigned and in no crowd, or one of a few that stand for the others."""
    if any(begin <= code_point < end for begin, end in CROWDS):
        return code_point % 32 == 0
    return unicodedata.category(chr(code_point)) not in ("Co", "Cn") or code_point % 128 == 0


@pytest.mark.parametrize("name", NAMES)
def test_code_points_in_context(name: str) -> None:
    every = (c for c in range(sys.maxunicode + 1) if c not in SURROGATES)
    check_parity(name, in_context([c for c in every if is_common(c)]), ONCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_code_point_in_context(name: str) -> None:
    every = [c for c in range(sys.maxunicode + 1) if c not in SURROGATES]
    for i in range(0, len(every), 100_000):
        check_parity(name, in_context(every[i : i + 100_000]))


@pytest.mark.parametrize("name", NAMES)
def test_every_token_as_a_word(name: str) -> None:
    model = spec(name).model
    assert isinstance(model, BpeModel)
    words = [token.decode(errors="replace") for token in model.tokens if token is not None]
    lines = [f"{w} {w}{w}\n{w.strip()}" for w in words]
    texts = ["\n".join(lines[i : i + 8]) for i in range(0, len(lines), 8)]
    check_parity(name, texts, [*ONCE, Way(FASTEST, 2), Way(FASTEST, 1, TINY)])


@pytest.mark.parametrize("name", NAMES)
def test_all_short_strings_of_classes(name: str) -> None:
    check_parity(name, short_texts(ALPHABET, 2) + short_texts(CORE_ALPHABET, 3), ONCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_longer_strings_of_classes(name: str) -> None:
    check_parity(name, short_texts(ALPHABET, 3) + short_texts(CORE_ALPHABET, 4))


@pytest.mark.parametrize("name", NAMES)
def test_long_strings_of_classes(name: str) -> None:
    check_parity(name, class_strings(11, 150, 800))


@pytest.mark.parametrize("name", NAMES)
def test_hostile_texts(name: str) -> None:
    texts = hostile_texts(20_000)
    check_parity(name, list(texts.values()))


@pytest.mark.parametrize("kind", ["one letter", "spaces", "newlines", "digits", "base64"])
def test_a_megabyte_of_a_hostile_text(kind: str) -> None:
    check_parity("gpt2", [hostile_texts(1_000_000)[kind]], [Way(FASTEST), Way("scalar")])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama3"])  # tiktoken takes quadratic time on one word
@pytest.mark.parametrize("kind", list(hostile_texts(1000)))
def test_a_megabyte_of_each_hostile_text(name: str, kind: str) -> None:
    texts = [hostile_texts(1_000_000)[kind]]
    check_parity(name, texts, [Way(FASTEST), Way(FASTEST, 2), Way("scalar")])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(TEXTS, min_size=20, max_size=60))
def test_random_texts(name: str, texts: list[str]) -> None:
    expected = flat(library(name).as_text(texts))
    for way in ONCE:
        got = run_batch(make_model(payload(name), way), texts, way.threads, 1)
        assert_same(got, expected, texts, (name, way))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_stays_exact_while_its_tables_fill(name: str) -> None:
    """Many different words, twice, through one worker with tiny tables and with full-sized ones."""
    choose = random.Random(3)  # noqa: S311
    letters = "etaoinshr\u0435\u043d\u4e2d\u6587\u0e01\ud55c"
    words = ["".join(choose.choices(letters, k=choose.randrange(1, 40))) for _ in range(6000)]
    texts = [" ".join(choose.sample(words, 60)) for _ in range(200)]
    expected = flat(library(name).as_text(texts))
    for way in (Way(FASTEST), Way(FASTEST, 1, TINY), Way("scalar", 1, TINY)):
        model = make_model(payload(name), way)
        for _ in range(2):
            assert_same(run_batch(model, texts, 1, 1), expected, texts, (name, way))
