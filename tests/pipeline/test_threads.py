"""Any number of threads gives the same ids, however a document is cut for them."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.models import (
    ENCODE,
    Way,
    assert_same,
    compile_payload,
    make_model,
    pair_model,
    run_batch,
    spec_of,
)
from tests.pipeline.conftest import ADDED, HAN, small_spec
from tests.split.patterns import CHAINS
from tests.strategies import ALPHABET, CORE_ALPHABET, class_strings
from tests.vocabularies import check_parity

from tokenmill import InvalidUtf8, SpecialTokenInText, _core
from tokenmill._spec import NormalizerStep

if TYPE_CHECKING:
    from tests.models import Engine

MIB = 1 << 20
FASTEST = _core.targets()[-1]


def big_texts() -> dict[str, str]:
    """Documents above the size at which one document is cut into tasks."""
    choose = random.Random(6)  # noqa: S311
    words = ["the", "quick", "and", "interesting", "it's", "12345", "don't", "--", "A", "Queue"]
    english = " ".join(choose.choices(words, k=500_000))
    return {
        "chinese": "".join(choose.choices(HAN, k=MIB)),
        "english": english,
        "lines": english.replace(" A ", "\n\n  A "),
        "no place to cut": "a" * (2 * MIB),
        "blanks": " \n" * MIB,
        "spaces": " " * (2 * MIB) + "x",
        "digits": "7" * (2 * MIB + 1),
        "punctuation": "!?" * MIB,
        "classes": "".join(class_strings(31, 40, 50_000, CORE_ALPHABET)),
        "all classes": "".join(class_strings(32, 20, 50_000, ALPHABET)),
        "tokens": "".join(
            choose.choices(["<s>", " </s> ", "the <pad> ", "x<pad>", "<"], k=400_000)
        ),
        "latin-1": "\u00e9t\u00e9 " * (MIB // 2),
        "emoji": "\U0001f600\u200d" * (MIB // 5),
    }


TEXTS = big_texts()


@pytest.mark.parametrize("chain", CHAINS)
def test_a_big_document_does_not_depend_on_threads(chain: str) -> None:
    """By rules, by one automaton, by a chain of them, with gaps that are dropped."""
    spec = spec_of(pair_model(0.6), CHAINS[chain], ADDED[:0])
    model = make_model(compile_payload(spec), Way(FASTEST))
    for name, threads in (("chinese", 2), ("english", 3), ("classes", 2), ("all classes", 3)):
        whole = run_batch(model, [TEXTS[name]])
        assert_same(run_batch(model, [TEXTS[name]], threads), whole, [name], (chain, threads))


@pytest.mark.parametrize("name", TEXTS)
def test_big_documents_of_every_kind(model: Engine, name: str) -> None:
    texts = [
        "before",
        TEXTS[name],
        "",
        TEXTS[name].encode()[: MIB // 3 * 3].decode(errors="ignore"),
    ]
    expected = run_batch(model, texts)
    for threads in (2, 3):
        assert_same(run_batch(model, texts, threads), expected, texts, (name, threads))
    assert (
        model.encode(TEXTS[name], False, ENCODE, 0).tolist()
        == expected[0][expected[1][1] : expected[1][2]].tolist()
    )


def test_a_big_document_is_normalized_and_prefixed_before_it_is_cut() -> None:
    spec = replace(small_spec(), normalizer=(NormalizerStep("nfc"),), add_prefix_space=True)
    model = make_model(compile_payload(spec), Way(FASTEST))
    for text in ("e\u0301 the " * (MIB // 4), "the\u0301<s>" * (MIB // 4), TEXTS["chinese"]):
        expected = run_batch(model, [text])
        for threads in (2, 3):
            assert_same(run_batch(model, [text], threads), expected, [text], threads)


def test_a_split_without_stages_makes_one_word() -> None:
    model = make_model(compile_payload(spec_of(pair_model(0.6))), Way(FASTEST))
    for text in (TEXTS["chinese"], TEXTS["english"]):
        expected = run_batch(model, [text])
        assert_same(run_batch(model, [text], 3), expected, [text], "one word")


def test_a_big_chinese_document_equals_the_library() -> None:
    text = TEXTS["chinese"][:380_000]
    check_parity("llama3", [text], [Way(FASTEST, threads) for threads in (1, 2, 3)])


def test_many_small_documents(model: Engine) -> None:
    choose = random.Random(7)  # noqa: S311
    source = TEXTS["english"]
    texts = [source[i : i + choose.choice((0, 1, 5, 64, 700))] for i in range(0, 900_000, 300)]
    expected = run_batch(model, texts)
    for threads in (2, 3, 8):
        assert_same(run_batch(model, texts, threads), expected, texts, threads)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("bad", [[0], [1999], [700, 1500], [0, 1], [1000, 1999, 300]])
def test_the_first_bad_document_is_reported(model: Engine, threads: int, bad: list[int]) -> None:
    texts = [b"some words and more " * 60 for _ in range(2000)]
    for i in bad:
        texts[i] = b"text" + bytes([0xFF]) + b"!" * i
    for _ in range(3):
        with pytest.raises(InvalidUtf8) as caught:
            run_batch(model, texts, threads)
        assert (caught.value.document, caught.value.offset) == (min(bad), 4)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_bad_big_document_behind_a_bad_small_one(model: Engine, threads: int) -> None:
    big = TEXTS["english"].encode() + b"\xff"
    with pytest.raises(InvalidUtf8) as caught:
        run_batch(model, [b"good", b"bad\xff", big], threads)
    assert caught.value.document == 1
    with pytest.raises(InvalidUtf8) as caught:
        run_batch(model, [b"good", big, b"bad\xff"], threads)
    assert (caught.value.document, caught.value.offset) == (1, len(big) - 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_special_token_is_reported_with_its_document(model: Engine, threads: int) -> None:
    texts = ["plain text " * 100] * 3000
    texts[1234] = "abc <s>"
    texts[2345] = "</s>"
    with pytest.raises(SpecialTokenInText) as caught:
        run_batch(model, texts, threads, special=2)
    assert (caught.value.document, caught.value.token) == (1234, "<s>")
    assert len(run_batch(model, texts, threads, special=1)[1]) == 3001


def test_a_model_works_after_errors(model: Engine) -> None:
    good = ["the quick <s> and </s>"] * 500
    expected = run_batch(model, good)
    for _ in range(5):
        for threads in (1, 3):
            with pytest.raises(InvalidUtf8):
                run_batch(model, [*good, b"\xff", *good], threads)
            with pytest.raises(SpecialTokenInText):
                model.encode("x </s>", False, 2, 0)
            assert_same(run_batch(model, good, threads), expected, good, threads)


def test_many_python_threads_share_a_model(model: Engine) -> None:
    texts = [TEXTS["english"][i : i + 9000 + i % 300] for i in range(0, 60_000, 3000)]
    texts += [TEXTS["chinese"][:4000], "", "a"]
    expected = run_batch(model, texts)
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for turn in range(15):
            i = (number * 7 + turn) % len(texts)
            one = model.encode(texts[i], False, ENCODE, 0)
            assert np.array_equal(one, expected[0][expected[1][i] : expected[1][i + 1]])
            got = run_batch(model, texts, 1 + (number + turn) % 3)
            assert_same(got, expected, texts, (number, turn))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert model.memory()["workers"] <= 8 * 3
