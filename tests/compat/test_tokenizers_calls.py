"""Calls of `tokenmill.compat.hf.Tokenizer` that follow rules of their own in the library."""

from __future__ import annotations

import asyncio
import json
import pickle
from itertools import product
from typing import Any

import pytest
import tokenizers
from tests.compat.cases import POST_PROCESSORS, TEXTS, definition, word_level
from tests.compat.outcome import exact_outcome, outcome, view

from tokenmill.compat.hf import Tokenizer

PAIRS = list(zip(TEXTS, TEXTS[3:] + TEXTS[:3], strict=True))
WORDS = [text.split(" ") for text in TEXTS]
METHODS = ("async_encode", "async_encode_batch", "async_encode_batch_fast")


def both(made: dict[str, Any]) -> tuple[Any, Tokenizer]:
    text = json.dumps(made)
    return tokenizers.Tokenizer.from_str(text), Tokenizer.from_str(text)


def fast_views(tokenizer: Any, *arguments: Any) -> list[Any]:
    return [view(encoding) for encoding in tokenizer.encode_batch_fast(*arguments)]


@pytest.mark.parametrize("name", POST_PROCESSORS)
def test_fast_batches_have_no_more_than_those_of_the_library(name: str) -> None:
    pair = both(definition(name))
    for inputs, words in ((TEXTS, False), (PAIRS, False), (WORDS, True)):
        for special, most in product((True, False), (None, 6, 12)):
            for tokenizer in pair:
                tokenizer.no_truncation()
                if most is not None:
                    tokenizer.enable_truncation(most, stride=1)
                tokenizer.no_padding()
                if most == 6:
                    tokenizer.enable_padding(length=6 if special else 9)
            expected, got = (outcome(fast_views, t, inputs, words, special) for t in pair)
            assert got == expected, (special, most)


@pytest.mark.parametrize("made", [definition("bert"), definition("sequence"), word_level()])
def test_both_are_printed_alike(made: dict[str, Any]) -> None:
    for options in ({}, {"max_length": 9, "stride": 2}):
        pair = both(made)
        for tokenizer in pair:
            if options:
                tokenizer.enable_truncation(**options)
                tokenizer.enable_padding(pad_id=3, pad_token="</s>")  # noqa: S106
        assert repr(pair[1]) == repr(pair[0])
        assert str(pair[1]) == str(pair[0])


@pytest.mark.parametrize("name", POST_PROCESSORS)
def test_tokens_of_a_pair_that_is_processed_later_keep_one_text(name: str) -> None:
    """The library draws the text at random if two of them claim a token."""

    def texts_of(tokenizer: Any, *, special: bool) -> tuple[list[Any], list[Any]]:
        first = tokenizer.encode("hello", add_special_tokens=False)
        second = tokenizer.encode("world hello", add_special_tokens=False)
        found = tokenizer.post_process(first, second, add_special_tokens=special)
        copied = pickle.loads(pickle.dumps(found))  # noqa: S301
        answers = [
            [one.token_to_sequence(token) for token in range(len(one))] for one in (found, copied)
        ]
        assert isinstance(tokenizer, tokenizers.Tokenizer) or answers[0] == answers[1]
        return answers[0], found.sequence_ids

    theirs, ours = both(definition(name))
    for special in (True, False):
        drawn = [texts_of(theirs, special=special) for _ in range(64)]
        got = [texts_of(ours, special=special) for _ in range(8)]
        assert all(one == got[0] for one in got)
        assert got[0] in drawn


def test_a_sequence_id_that_is_set_later_counts() -> None:
    for tokenizer in both(definition("bert_like")):
        first = tokenizer.encode("hello", add_special_tokens=False)
        second = tokenizer.encode("world", add_special_tokens=False)
        found = tokenizer.post_process(first, second)
        found.truncate(2)
        assert [found.token_to_sequence(token) for token in range(2)] == [0, 0]
        found.set_sequence_id(1)
        assert found.token_to_sequence(0) == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stride", [0, 1, 2, 3])
def test_asynchronous_calls_raise_what_those_of_the_library_raise(method: str, stride: int) -> None:
    def run(tokenizer: Any, inputs: Any) -> Any:
        async def call() -> Any:
            found = await getattr(tokenizer, method)(*inputs)
            return [e.ids for e in (found if isinstance(found, list) else [found])]

        return exact_outcome(asyncio.run, call())

    pair = both(definition("bert_like"))
    for tokenizer in pair:
        tokenizer.enable_truncation(6, stride=stride)
    long = ("hello world " * 4, "world hello " * 4)
    for texts in (long, ("hello", "world"), (5, "a")):
        inputs = texts if method == "async_encode" else ([texts],)
        assert run(pair[1], inputs) == run(pair[0], inputs)


@pytest.mark.parametrize("stride", range(5))
def test_a_stride_that_does_not_fit_raises_what_the_library_raises(stride: int) -> None:
    pair = both(definition("bert_like"))
    for most, strategy in product((3, 5, 6), ("longest_first", "only_first", "only_second")):
        expected, got = (exact_outcome(t.enable_truncation, most, stride, strategy) for t in pair)
        assert got == expected
        for texts in ((TEXTS[3],), ("hello world", TEXTS[3])):
            expected, got = (exact_outcome(lambda t, i=texts: t.encode(*i).ids, t) for t in pair)
            assert got == expected
