"""Batches under a budget of tokens, against a slow way to make them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tokenmill import EncodeError, OptionError, TextTypeError, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


WORDS = ("a", "few", "words", "of", "any", "kind")


def random_texts(seed: int, count: int = 200) -> list[str]:
    rng = random.Random(seed)  # noqa: S311
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, 40)))
            for _ in range(count)]  # fmt: skip


def slow_batches(
    lengths: list[int], *, max_tokens: int, max_rows: int | None, bucket: int, multiple: int
) -> list[list[int]]:
    """Numbers of the texts of each batch: one text after the other, as long as it fits."""
    batches: list[list[int]] = []
    for first in range(0, len(lengths), bucket):
        numbers = range(first, min(first + bucket, len(lengths)))
        padded = {n: -(-lengths[n] // multiple) * multiple for n in numbers}
        batch: list[int] = []
        for number in sorted(numbers, key=lambda n: (-padded[n], n)):
            full = max_rows is not None and len(batch) == max_rows
            if batch and (full or (len(batch) + 1) * max(1, padded[batch[0]]) > max_tokens):
                batches.append(batch)
                batch = []
            batch.append(number)
        batches.append(batch)
    return batches


@pytest.mark.parametrize("seed", range(12))
def test_batches_are_those_of_the_slow_way(tokenizer: Tokenizer, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    texts = random_texts(seed)
    bounds: Any = {
        "max_tokens": rng.choice((64, 100, 512)),
        "max_rows": rng.choice((None, 1, 7)),
        "bucket": rng.choice((1, 16, 61, 1000)),
    }
    multiple, add = rng.choice((1, 8)), rng.random() < 0.5
    lengths = tokenizer.count_batch(texts, add_special_tokens=add).tolist()
    options: dict[str, Any] = {"pad_to_multiple_of": multiple, "add_special_tokens": add}
    got = list(tokenizer.batches(iter(texts), **bounds, **options))
    expected = slow_batches(lengths, **bounds, multiple=multiple)
    assert [batch.rows.tolist() for batch in got] == expected
    for batch in got:
        rows = [texts[number] for number in batch.rows]
        alone = tokenizer.encode_batch(rows, padding="longest", dtype="int64", **options)
        assert batch.encoded == alone
        assert batch.ids.size <= bounds["max_tokens"]
        assert alone.attention_mask is not None
        assert batch.fill == (alone.attention_mask.sum() / alone.ids.size if alone.ids.size else 1)


def test_results_come_back_in_order(tokenizer: Tokenizer) -> None:
    texts = random_texts(3)
    batches = tokenizer.batches(texts, max_tokens=128)
    outputs = [batch.ids.sum(axis=1) for batch in batches]
    got = batches.restore(outputs)
    assert got == [int(tokenizer.encode(text).sum()) for text in texts]
    with pytest.raises(OptionError, match="outputs"):
        batches.restore(outputs[:-1])


def test_rows_of_all_batches_are_all_texts_once(tokenizer: Tokenizer) -> None:
    texts = random_texts(4)
    rows = [
        row for batch in tokenizer.batches(texts, max_tokens=99, bucket=33) for row in batch.rows
    ]
    assert sorted(rows) == list(range(len(texts)))


def test_texts_are_taken_a_bucket_at_a_time(tokenizer: Tokenizer) -> None:
    taken = 0

    def source() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "a few words"

    batches = tokenizer.batches(source(), max_tokens=64, bucket=10)
    assert taken == 0
    next(batches)
    assert taken == 10


def test_a_text_that_is_too_long_is_never_cut_silently(tokenizer: Tokenizer) -> None:
    texts = ["short", "a few words " * 30, "short"]
    with pytest.raises(EncodeError, match="at most 32 tokens") as caught:
        list(tokenizer.batches(texts, max_tokens=32))
    assert caught.value.document == 1
    got = list(tokenizer.batches(texts, max_tokens=32, too_long="alone"))
    assert [batch.rows.tolist() for batch in got] == [[1], [0, 2]]
    assert got[0].tokens == tokenizer.count(texts[1])
    cut = list(tokenizer.batches(texts, max_tokens=32, truncation="longest_first", max_length=16))
    assert [batch.ids.shape for batch in cut] == [(2, 16), (1, 1)]


def test_errors_name_the_text_among_all(tokenizer: Tokenizer) -> None:
    texts = [b"ok"] * 7 + [b"\xff"]
    with pytest.raises(EncodeError) as caught:
        list(tokenizer.batches(texts, max_tokens=32, bucket=3))
    assert caught.value.document == 7


def test_batches_pay_off(tokenizer: Tokenizer) -> None:
    texts = random_texts(5, 1000)
    fill = [batch.fill for batch in tokenizer.batches(texts, max_tokens=512)]
    naive = tokenizer.encode_batch(texts[:32], padding="longest").attention_mask
    assert naive is not None
    assert np.mean(fill) > 0.95 > naive.mean() + 0.2


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 0},
        {"max_tokens": 9, "max_rows": 0},
        {"max_tokens": 9, "bucket": 0},
        {"max_tokens": 9, "too_long": "cut"},
        {"max_tokens": 9, "padding": "max_length", "max_length": 4},
        {"max_tokens": 9, "pairs": ["a"]},
    ],
)
def test_bad_options_are_refused_at_once(tokenizer: Tokenizer, options: Any) -> None:
    with pytest.raises(OptionError):
        tokenizer.batches(["a"], **options)


def test_inputs(tokenizer: Tokenizer) -> None:
    with pytest.raises(TextTypeError):
        tokenizer.batches("one text", max_tokens=9)
    assert list(tokenizer.batches([], max_tokens=9)) == []
    (batch,) = tokenizer.batches(pa.array(["a", "b c"]), max_tokens=9)
    assert batch.rows.tolist() == [1, 0]
    assert len(batch) == 2
    assert "75.0% full" in repr(batch)
    (empty,) = tokenizer.batches(["", ""], max_tokens=9)
    assert (empty.ids.shape, empty.fill) == ((2, 0), 1.0)
