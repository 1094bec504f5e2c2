"""Datasets of every kind in, the same kind out, with the same rows however they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from datasets import Dataset, DatasetDict, Features, List, Value, concatenate_datasets
from tests.causal.corpus import columns_of, dataset, features, made, paragraphs, rows

if TYPE_CHECKING:
    from tokenmill import Tokenizer


def test_a_dataset_gives_a_dataset_with_three_columns() -> None:
    result = made().tokenize(dataset(paragraphs()))
    assert type(result) is Dataset
    assert result.features == Features(features())
    assert {len(row) for row in result["input_ids"]} == {32}
    first = result.with_format("torch")[:4]
    assert first["input_ids"].shape == first["labels"].shape == (4, 32)


def test_a_dataset_dict_gives_a_stream_for_each_split() -> None:
    splits = DatasetDict(train=dataset(paragraphs()), test=dataset(["one", "two"]))
    result = made().tokenize(splits)
    assert type(result) is DatasetDict
    assert list(result) == ["train", "test"]
    for name, texts in splits.items():
        assert columns_of(result[name]) == rows(texts)


def test_the_split_keeps_its_name() -> None:
    texts = Dataset.from_dict({"text": ["a"]}, split="validation")
    assert str(made().tokenize(texts).split) == "validation"


def test_selected_and_shuffled_datasets_are_read_in_their_order() -> None:
    texts = dataset(paragraphs())
    picked = texts.shuffle(seed=3).select(range(5, 60, 2))
    plain = dataset(picked["text"])
    assert rows(picked) == rows(plain)
    assert rows(picked.flatten_indices()) == rows(plain)


def test_datasets_of_several_shards_are_one_stream() -> None:
    parts = [dataset(paragraphs()[i::3]) for i in range(3)]
    joined = concatenate_datasets(parts)
    assert len(joined.data.column("text").chunks) == 3
    assert rows(joined) == rows(dataset([t for part in parts for t in part["text"]]))


@pytest.mark.parametrize("batch_size", [1, 2, 7, 50, 10_000])
def test_rows_do_not_depend_on_the_batch_size(batch_size: int) -> None:
    texts = dataset(paragraphs())
    for pack in (True, False):
        result = made(batch_size=batch_size).tokenize(texts, pack=pack)
        assert columns_of(result) == rows(texts, pack=pack)


@pytest.mark.parametrize("pack", [True, False])
def test_an_empty_dataset_gives_an_empty_one_with_the_right_features(pack: bool) -> None:
    columns = Features({"text": Value("string"), "n": Value("int8")})
    empty = Dataset.from_dict({"text": [], "n": []}, features=columns)
    keep = [] if pack else ["n"]
    for given in (empty, dataset(["a"], n=[1]).select([])):
        result = made().tokenize(given, pack=pack, keep_columns=keep)
        assert len(result) == 0
        assert list(result.features) == [*features(), *keep]
        assert result.features["labels"] == List(Value("int32"), length=32)


@pytest.mark.parametrize("pack", [True, False])
def test_one_giant_row_is_cut_like_any_other(pack: bool, small: Tokenizer) -> None:
    text = "hello world, " * 200_000
    ids = small.encode(text).tolist()
    eos = small.special_tokens["</s>"]
    result = made(1000, tokenizer=small).tokenize(dataset([text]), pack=pack, tail="carry")
    assert [i for row in result["input_ids"] for i in row] == [*ids, eos]
    assert len(result) == -(-(len(ids) + 1) // 1000) > 500


def test_max_rows_ends_every_split(caplog: pytest.LogCaptureFixture) -> None:
    splits = DatasetDict(train=dataset(paragraphs()), test=dataset(["one"]))
    whole = made().tokenize(splits)
    limits: list[dict[str, Any]] = [{"max_rows": 5}, {"max_chunks": 5}]
    for limit in [*limits, {"max_rows": 5, "max_chunks": 5}]:
        result = made().tokenize(splits, **limit)
        assert columns_of(result["train"]) == columns_of(whole["train"])[:5]
        assert columns_of(result["test"]) == columns_of(whole["test"])
    assert "train: stopped after 5 rows (max_rows)" in caplog.messages
    assert "test: stopped" not in caplog.text


def test_a_trial_tokenizes_little() -> None:
    seen = []

    class Letters:
        def encode(self, text: str) -> list[int]:
            seen.append(text)
            return [ord(letter) for letter in text]

    texts = dataset(["words"] * 5000)
    made(tokenizer=Letters(), num_proc=1).tokenize(texts, eos=0, max_rows=3)
    assert len(seen) <= 200
