"""Datasets of every kind in, the same kind out: columns, rows without text, caches, limits."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value, concatenate_datasets
from tests.causal.corpus import QUIET, columns_of, dataset, paragraphs

from tokenmill import (
    CausalLMTokenizer,
    InvalidUtf8,
    OptionError,
    OutputError,
    SpecialTokenInText,
    Tokenizer,
)
from tokenmill._causal import job, split, store

if TYPE_CHECKING:
    from pathlib import Path

RESULT = {
    "input_ids": List(Value("int32")),
    "attention_mask": List(Value("int8")),
    "labels": List(Value("int32")),
}
NONE = "2 rows of None skipped, the first is row 1"


@cache
def builtin() -> Tokenizer:
    """Loaded once: most tests are about datasets."""
    return Tokenizer.load()


def made(context_length: int = 32, **keys: Any) -> CausalLMTokenizer:
    given = {**QUIET, "tokenizer": builtin(), **keys}
    return CausalLMTokenizer(context_length=context_length, **given)


def rows(texts: Any, **options: Any) -> list[Any]:
    return columns_of(made().tokenize(texts, **options))


def test_a_dataset_gives_a_dataset_with_three_columns() -> None:
    result = made().tokenize(dataset(paragraphs()))
    assert type(result) is Dataset
    assert result.features == Features(RESULT)
    assert {len(row) for row in result["input_ids"]} == {32}
    first = result.with_format("torch")[:4]
    assert first["input_ids"].shape == first["labels"].shape == (4, 32)


@pytest.mark.parametrize("limit", [0, 30_000, 10**9])
@pytest.mark.parametrize("tail", ["pad", "carry", "drop"])
def test_many_rows_go_to_a_file_and_are_the_same(
    limit: int,
    tail: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = rows(dataset(paragraphs()), tail=tail)
    monkeypatch.setattr(store, "memory_rows_bytes", lambda: limit)
    monkeypatch.setattr(split, "writer_rows", lambda *_: 20)
    result = made().tokenize(dataset(paragraphs()), tail=tail)
    assert columns_of(result) == expected
    assert bool(result.cache_files) == (limit < 10**9)
    assert result.features == Features(RESULT)


def test_an_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written"):
        made().tokenize(dataset(["a"]), cache_dir=tmp_path / "file")


def test_a_disk_that_fails_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store._Unfinished, "_write", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        made().tokenize(dataset(paragraphs()), cache_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_has_left_is_swept_away(tmp_path: Path) -> None:
    texts = dataset(["a"])
    made().tokenize(texts, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    old, new = (tmp_path / f"{path.name}.{pid}.tokenmill-part" for pid in (1, 2))
    for left in (old, new):
        left.write_bytes(b"half")
    os.utime(old, (0, 0))
    made().tokenize(texts, cache_dir=tmp_path, force=True)
    assert sorted(tmp_path.iterdir()) == sorted([path, new])  # the new one may be at work


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


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)  # fmt: skip
def test_every_type_of_strings_is_taken(kind: pa.DataType) -> None:
    array = pa.array(["hello", "caf\u00e9", "hello"]).cast(kind)
    table = pa.table({"text": array}).replace_schema_metadata(None)
    if pa.types.is_dictionary(kind):
        texts = Dataset(pa.table({"text": array}), info=None)
    else:
        texts = Dataset(table)
    assert rows(texts) == rows(dataset(["hello", "caf\u00e9", "hello"]))


@pytest.mark.parametrize(
    ("feature", "values"),
    [
        (Value("int64"), [1, 2]),
        (Value("float32"), [0.5, 1.0]),
        (Value("bool"), [True, False]),
        (ClassLabel(names=["no", "yes"]), [0, 1]),
        (List(Value("string")), [["a"], ["b"]]),
        ({"inner": Value("string")}, [{"inner": "a"}, {"inner": "b"}]),
    ],
    ids=str,
)
def test_a_column_of_another_type_is_refused(feature: Any, values: list[Any]) -> None:
    texts = Dataset.from_dict({"text": values}, features=Features({"text": feature}))
    with pytest.raises(OptionError, match=r"text_column: expected strings, got column 'text' of"):
        made().tokenize(texts, text_column="text")
    with pytest.raises(OptionError, match=r"no column holds strings.*the columns are text \("):
        made().tokenize(texts)


def test_the_text_column_is_found_and_said(caplog: pytest.LogCaptureFixture) -> None:
    only = Dataset.from_dict({"n": [1], "content": ["hello"]})
    usual = Dataset.from_dict({"title": ["t"], "text": ["hello"]})
    assert rows(only) == rows(usual) == rows(dataset(["hello"]))
    assert "text column 'content' (found)" in caplog.messages
    assert "columns: dropped n" in caplog.messages
    assert "text column 'text' (found)" in caplog.messages
    assert "columns: dropped title" in caplog.messages


def test_a_missing_column_is_told_with_those_that_there_are() -> None:
    texts = Dataset.from_dict({"n": [1], "title": ["t"], "body": ["b"]})
    there = r"the columns are n \(int64\), title \(string\), body \(string\)"
    with pytest.raises(OptionError, match=rf"text_column: there is no column 'txt'.*{there}"):
        made().tokenize(texts, text_column="txt")
    with pytest.raises(OptionError, match=rf"2 columns hold strings.*{there}"):
        made().tokenize(texts)
    with pytest.raises(OptionError, match=rf"test: text_column: there is no column 'x'.*{there}"):
        made().tokenize(DatasetDict(test=texts), text_column="x")
    with pytest.raises(OptionError, match=rf"keep_columns: there is no column 'x', 'y'.*{there}"):
        made().tokenize(texts, text_column="body", pack=False, keep_columns=["n", "x", "y"])
    assert rows(texts, text_column="body") == rows(dataset(["b"]))


@pytest.mark.parametrize("pack", [True, False])
def test_rows_of_none_and_empty_texts_are_skipped_and_said(
    pack: bool, caplog: pytest.LogCaptureFixture
) -> None:
    texts = dataset(["one", None, "", "two", None])
    assert rows(texts, pack=pack) == rows(dataset(["one", "two"]), pack=pack)
    assert NONE in caplog.messages
    assert "1 empty text skipped" in caplog.messages
    record = next(r for r in caplog.records if r.getMessage() == NONE)
    assert record.levelno == logging.WARNING


def test_nothing_but_none_gives_no_rows() -> None:
    texts = Dataset.from_dict({"text": [None, None]}, features=Features({"text": Value("string")}))
    for given in (texts, dataset([None, None]), dataset(["", ""])):
        result = made().tokenize(given)
        assert len(result) == 0
        assert result.features == Features(RESULT)


@pytest.mark.parametrize("pack", [True, False])
def test_an_empty_dataset_gives_an_empty_one_with_the_right_features(pack: bool) -> None:
    columns = Features({"text": Value("string"), "n": Value("int8")})
    empty = Dataset.from_dict({"text": [], "n": []}, features=columns)
    keep = [] if pack else ["n"]
    for given in (empty, dataset(["a"], n=[1]).select([])):
        result = made().tokenize(given, pack=pack, keep_columns=keep)
        assert len(result) == 0
        assert list(result.features) == [*RESULT, *keep]
        assert result.features["labels"] == List(Value("int32"))


def test_a_dataset_without_columns_is_refused() -> None:
    with pytest.raises(OptionError, match=r"no column holds strings.*the dataset has no columns"):
        made().tokenize(Dataset.from_dict({}))


@pytest.mark.parametrize("pack", [True, False])
def test_one_giant_row_is_cut_like_any_other(pack: bool, small: Tokenizer) -> None:
    text = "hello world, " * 200_000
    ids = small.encode(text).tolist()
    eos = small.special_tokens["</s>"]
    result = made(1000, tokenizer=small).tokenize(dataset([text]), pack=pack, tail="carry")
    assert [i for row in result["input_ids"] for i in row] == [*ids, eos]
    assert len(result) == -(-(len(ids) + 1) // 1000) > 500


def test_kept_columns_are_repeated_for_every_row_of_their_document(
    caplog: pytest.LogCaptureFixture,
) -> None:
    columns = Features(
        {"text": Value("string"), "n": Value("int16"), "tags": List(Value("string")),
         "label": ClassLabel(names=["no", "yes"])}
    )  # fmt: skip
    values: dict[str, list[Any]] = {
        "text": ["hello " * 100, None, "short", ""], "n": [1, 2, 3, 4],
        "tags": [["a", "b"], [], ["c"], []], "label": [0, 1, 1, 0],
    }  # fmt: skip
    texts = Dataset.from_dict(values, features=columns)
    result = made().tokenize(texts, pack=False, keep_columns=["tags", "label", "text"])
    assert "columns: kept tags, label, text; dropped n" in caplog.messages
    assert list(result.features) == [*RESULT, "tags", "label", "text"]
    assert result.features["label"] == columns["label"]
    long = len(result) - 1
    assert long > 3
    assert result["tags"] == [["a", "b"]] * long + [["c"]]
    assert result["label"] == [0] * long + [1]
    assert set(result["text"][:long]) == {values["text"][0]}


def test_the_stream_keeps_no_columns() -> None:
    with pytest.raises(OptionError, match="keep_columns: a row of the stream holds several"):
        made().tokenize(dataset(["a"], n=[1]), keep_columns=["n"])


def test_max_rows_ends_every_split(caplog: pytest.LogCaptureFixture) -> None:
    splits = DatasetDict(train=dataset(paragraphs()), test=dataset(["one"]))
    whole = made().tokenize(splits)
    limits: list[dict[str, Any]] = [{"max_rows": 5}, {"max_chunks": 5}]
    for limit in [*limits, {"max_rows": 5, "max_chunks": 5}]:
        result = made().tokenize(splits, **limit)
        assert columns_of(result["train"]) == columns_of(whole["train"])[:5]
        assert columns_of(result["test"]) == columns_of(whole["test"])
    assert "train: ended after 5 rows (max_rows)" in caplog.messages
    assert "test: ended" not in caplog.text


def test_a_cache_is_found_again_and_force_makes_it_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = dataset(paragraphs())
    first = made().tokenize(texts, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    os.utime(path, (1, 1))  # a file that is written anew gets another time
    again = made().tokenize(dataset(paragraphs()), cache_dir=tmp_path)
    assert columns_of(again) == columns_of(first)
    assert f"found in the cache: {path}" in caplog.messages
    assert path.stat().st_mtime == 1
    forced = made().tokenize(texts, cache_dir=tmp_path, force=True)
    assert columns_of(forced) == columns_of(first)
    assert path.stat().st_mtime > 1
    assert list(tmp_path.iterdir()) == [path]


def test_what_changes_rows_changes_the_place_in_the_cache(tmp_path: Path, small: Tokenizer) -> None:
    texts = dataset(paragraphs())
    calls: list[tuple[CausalLMTokenizer, Any, dict[str, Any]]] = [
        (made(), texts, {}),
        (made(), texts.select(range(20)), {}),
        (made(33), texts, {}),
        (made(overlap=1), texts, {}),
        (made(tokenizer=small), texts, {}),
        (made(), texts, {"pack": False}),
        (made(), texts, {"tail": "drop"}),
        (made(), texts, {"eos": False}),
        (made(), texts, {"bos": 1}),
        (made(), texts, {"pad": 0}),
        (made(overlap=1), texts, {"mask_overlap": True}),
        (made(), texts, {"ignore_index": -1}),
        (made(), texts, {"special_in_text": "encode"}),
        (made(), texts, {"max_rows": 3}),
    ]
    for number, (one, given, options) in enumerate(calls, start=1):
        one.tokenize(given, cache_dir=tmp_path, **options)
        assert len(list(tmp_path.iterdir())) == number, options
    # What does not: how the work is done.
    made(batch_size=3, verbose_level="ERROR").tokenize(texts, cache_dir=tmp_path)
    assert len(list(tmp_path.iterdir())) == len(calls)


def test_a_failed_run_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    texts = dataset(["fine", "not <|endoftext|> fine"])
    with pytest.raises(SpecialTokenInText, match=r"document 1, byte 4: .*endoftext") as caught:
        made().tokenize(texts, cache_dir=tmp_path, special_in_text="raise")
    assert (caught.value.document, caught.value.token) == (1, "<|endoftext|>")
    assert list(tmp_path.iterdir()) == []


def test_a_bad_document_is_told_by_its_row_in_the_dataset() -> None:
    values = [b"fine", None, b"", b"fine", b"bad \xff"]
    texts = Dataset(pa.table({"text": pa.array(values, pa.binary())}))
    with pytest.raises(
        InvalidUtf8, match=r"^document 4, byte 4: expected UTF-8, got byte 255; hint: mend"
    ) as caught:
        made(batch_size=2).tokenize(texts)
    assert (caught.value.document, caught.value.offset) == (4, 4)


def test_special_tokens_in_text_are_text_unless_asked_otherwise() -> None:
    texts = dataset(["a<|endoftext|>b"])
    tokenizer = Tokenizer.load()
    as_text = made().tokenize(texts, eos=False, tail="carry")["input_ids"][0]
    encoded = made().tokenize(texts, eos=False, tail="carry", special_in_text="encode")
    assert as_text == tokenizer.encode("a<|endoftext|>b", special_in_text="text").tolist()
    assert encoded["input_ids"][0] == tokenizer.encode("a<|endoftext|>b").tolist()


@pytest.mark.parametrize("given", [7, None, {"text": ["a"]}, ["a", 7], pa.table({"text": ["a"]})])
def test_what_is_no_dataset_is_refused(given: object) -> None:
    with pytest.raises(OptionError, match="dataset: expected a Dataset, DatasetDict, Iterable"):
        made().tokenize(given)


WRONG_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"tail": "keep"}, "tail: expected one of pad, carry, drop, got 'keep'"),
    ({"tail": True}, "tail: expected one of"),
    ({"pack": 1}, "pack: expected true or false, got 1"),
    ({"pack": None}, "pack: expected true or false"),
    ({"mask_overlap": "yes"}, "mask_overlap: expected true or false"),
    ({"ignore_index": 1.0}, "ignore_index: expected a whole number"),
    ({"ignore_index": True}, "ignore_index: expected a whole number"),
    ({"ignore_index": 2**31}, "ignore_index: expected a whole number"),
    ({"max_rows": 0}, "max_rows: expected a whole number of at least 1, or None, got 0"),
    ({"max_chunks": -1}, "max_rows: expected"),
    ({"max_rows": 1, "max_chunks": 2}, "expected one of max_rows and max_chunks, got 1 and 2"),
    ({"text_column": 3}, "text_column: expected the name of a column, or None, got 3"),
    ({"text_column": ""}, "text_column: expected"),
    ({"keep_columns": "n"}, "keep_columns: expected a list of columns, got 'n'"),
    ({"keep_columns": 3}, "keep_columns: expected a list"),
    ({"keep_columns": [3], "pack": False}, "keep_columns: expected names of columns, got 3"),
    ({"keep_columns": ["labels"], "pack": False}, "keep_columns: 'labels' is a column of the res"),
    ({"keep_columns": ["n", "n"], "pack": False}, "keep_columns: expected each column once"),
    ({"special_in_text": "drop"}, "special_in_text: expected one of text, encode, raise"),
    ({"eos": "</nothing>"}, "eos: the tokenizer has no token '</nothing>'"),
    ({"bos": True}, "bos: the tokenizer does not define one"),
    ({"pad": 10**6}, "pad: the tokenizer has no token 1000000"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_OPTIONS, ids=str)
def test_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        made().tokenize(dataset(["a"], n=[1]), **options)
    assert str(caught.value).startswith(message)


def test_a_transform_is_what_the_dataset_says(tmp_path: Path) -> None:
    texts = dataset(paragraphs())
    expected = rows(dataset([text.upper() for text in paragraphs()]))

    def change(batch: dict[str, list[str]]) -> dict[str, Any]:
        return {"upper": [text.upper() for text in batch["text"]], "n": [1] * len(batch["text"])}

    changed = texts.with_transform(change)
    assert rows(changed) == expected
    assert rows(changed, max_rows=2) == expected[:2]
    result = made().tokenize(changed, pack=False, keep_columns=["n"])
    assert set(result["n"]) == {1}
    assert rows(texts, cache_dir=tmp_path) != rows(changed, cache_dir=tmp_path)
    with pytest.raises(OptionError, match="there is no column 'text'"):
        made().tokenize(changed, text_column="text")


def test_a_row_that_no_memory_could_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "available_bytes", lambda: 8 << 30)
    giant = made(context_length=2**31 - 1)
    with pytest.raises(OptionError, match=r"^context_length: a row of 2,147,483,647 tokens"):
        giant.tokenize(dataset(["text"]))
    assert len(giant.tokenize(dataset(["text"]), tail="drop")) == 0


def test_a_trial_tokenizes_little() -> None:
    seen = []

    class Letters:
        def encode(self, text: str) -> list[int]:
            seen.append(text)
            return [ord(letter) for letter in text]

    texts = dataset(["words"] * 5000)
    made(tokenizer=Letters(), num_proc=1).tokenize(texts, eos=0, max_rows=3)
    assert len(seen) <= 200


def test_a_damaged_file_of_the_cache_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = rows(dataset(paragraphs()), cache_dir=tmp_path)
    (path,) = tmp_path.glob("*.arrow")
    path.write_bytes(b"damaged" * 10)
    assert rows(dataset(paragraphs()), cache_dir=tmp_path) == expected
    assert "made again" in caplog.text


@pytest.mark.parametrize("wrong", [{"cache_dir": 3}, {"cache_dir": ""}, {"force": "yes"}])
def test_a_wrong_place_is_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(OptionError, match=f"^{name}: expected"):
        made().tokenize(dataset(["text"]), **wrong)
