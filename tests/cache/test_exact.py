"""What the cache returns is what the tokenizer returns, whatever state the cache is in."""

from __future__ import annotations

import threading
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cache.kinds import ERRORS, NAMES, SPECIAL, outcome, sample_texts, texts, tokenizer_named

from tokenmill import Tokenizer
from tokenmill._cache import SegmentCache, supported

CHOICES = list(product(SPECIAL, ERRORS, (False, True)))


def new_cache(budget: int = 1 << 20, *, cut: int = 8, verify: int = 5) -> SegmentCache:
    """Look up every text, cut wherever that is safe, and check often."""
    return SegmentCache(budget, min_bytes=1, cut_bytes=cut, verify=verify, adaptive=False)


def assert_same(cache: SegmentCache, tokenizer: Tokenizer, text: str | bytes, choice: int) -> None:
    special, errors, around = CHOICES[choice % len(CHOICES)]
    options = {"special_in_text": special, "errors": errors, "add_special_tokens": around}
    expected = outcome(tokenizer.encode, text, **options)
    assert outcome(cache.encode, tokenizer, text, **options) == expected, (text, options)


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_in_every_state(name: str) -> None:
    tokenizer = tokenizer_named(name)
    caches = [new_cache(), new_cache(0), new_cache(900), new_cache(6000), new_cache(cut=0)]
    for number, text in enumerate(sample_texts(1, 40)):
        for cache in caches:
            assert_same(cache, tokenizer, text, number)
            assert_same(cache, tokenizer, text.encode(), number)  # the second time it may know
    for cache in caches:
        assert cache.stats()["differences"] == 0
    if supported(tokenizer):
        memory = caches[0].stats()["memory"]
        assert memory["hits"] > 0
        assert caches[2].stats()["memory"]["evictions"] > 0


@pytest.mark.parametrize("name", ["small", "bpe 0", "unigram 1", "first/bytes", "wordpiece 2"])
def test_any_texts_in_any_order(name: str) -> None:
    tokenizer = tokenizer_named(name)
    cache = new_cache(3000)

    @settings(max_examples=60)
    @given(st.lists(texts, min_size=1, max_size=6), st.integers(0, len(CHOICES) - 1))
    def check(many: list[str], choice: int) -> None:
        for text in [*many, *many]:
            assert_same(cache, tokenizer, text, choice)

    check()
    assert cache.stats()["differences"] == 0


@pytest.mark.parametrize(
    "name", ["small", "builtin", "marked/bytes", "first/bytes", "white/unigram"]
)
def test_texts_that_grow(name: str) -> None:
    tokenizer = tokenizer_named(name)
    cache = new_cache(cut=64)
    words = "some words that say a thing, then another one; it's 10 o'clock <s> and so on. " * 8
    for end in range(1, len(words), 7):
        assert_same(cache, tokenizer, words[:end], 0)
    assert cache.stats()["differences"] == 0


def test_a_growing_text_without_tokens_is_found_by_its_parts() -> None:
    tokenizer = Tokenizer.load()
    cache = SegmentCache(min_bytes=100, cut_bytes=1000, verify=0, adaptive=False)
    text = "a text of plain words " * 400
    cache.encode(tokenizer, text)
    cache.encode(tokenizer, text + "and a new end that was not there")
    memory = cache.stats()["memory"]
    assert memory["hit_bytes"] > 0.7 * len(text)  # all but the last part


def test_invalid_bytes_and_surrogates_are_the_same_errors() -> None:
    tokenizer = tokenizer_named("small")
    cache = new_cache()
    for text in [b"hello \xff world", "hello \ud800 world", "hello", b"\xe4\xb8", "<s>\udfff<s>"]:
        for choice in range(len(CHOICES)):
            assert_same(cache, tokenizer, text, choice)  # type: ignore[arg-type]


def test_a_deadline_that_has_passed_stops_the_call() -> None:
    from tokenmill import DeadlineExceeded
    from tokenmill._core import Stop

    cache = new_cache()
    tokenizer = Tokenizer.load()
    for _ in range(2):
        with pytest.raises(DeadlineExceeded):
            cache.encode(tokenizer, "hello world " * 100, stop=Stop(0))
        cache.encode(tokenizer, "hello world " * 100)


def test_long_texts_are_left_to_threads_and_equal() -> None:
    tokenizer = Tokenizer.load()
    cache = SegmentCache(adaptive=False)
    text = "hello brave new world, again and again. " * 40_000
    assert_same(cache, tokenizer, text, 0)
    assert cache.stats()["models"][0]["long_texts"] == 1


def test_a_tokenizer_of_a_library_is_encoded_plainly_and_says_so() -> None:
    names = [name for name in NAMES if not supported(tokenizer_named(name))]
    assert names, "no tokenizer of the tests runs through a library any more"
    tokenizer = tokenizer_named(names[0])
    assert "library" in supported(tokenizer).reason
    cache = new_cache()
    assert_same(cache, tokenizer, "hello <s> world" * 9, 0)
    assert cache.stats()["models"] == []


def test_one_cache_keeps_tokenizers_apart() -> None:
    cache = new_cache()
    many = [tokenizer_named(name) for name in NAMES]
    for text in ["hello world <s> caf\u00e9 Word 1", "x"]:
        for _ in range(2):
            for tokenizer in many:
                assert_same(cache, tokenizer, text, 0)


def test_many_threads_with_a_budget_that_is_always_full() -> None:
    cache = new_cache(20_000, verify=7)
    names = ["small", "builtin", "bpe 0", "unigram 1", "first/bytes"]
    cases = [(tokenizer_named(name), text) for name in names for text in sample_texts(3, 20)]
    expected = [tokenizer.encode(text).tolist() for tokenizer, text in cases]
    wrong: list[int] = []

    def run(start: int) -> None:
        for turn in range(3 * len(cases)):
            number = (start * 13 + turn) % len(cases)
            tokenizer, text = cases[number]
            if cache.encode(tokenizer, text).tolist() != expected[number]:
                wrong.append(number)
            if turn % 97 == 0:
                cache.clear() if start == 0 else cache.resize(15_000 + 100 * start)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert cache.stats()["differences"] == 0
