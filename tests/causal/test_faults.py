"""Documents and options that are wrong: what is skipped, what is an error, and its words."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
import pytest
from datasets import Dataset, Features, Value
from tests.causal.corpus import dataset, features, made, rows

from tokenmill import InvalidUtf8, OptionError, Tokenizer
from tokenmill._causal import job

NONE = "2 rows of None skipped, the first is row 1"


@pytest.mark.parametrize("pack", [True, False])
def test_rows_of_none_and_empty_texts_are_skipped_and_logged(
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
        assert result.features == Features(features())


def test_a_bad_document_is_reported_by_its_row_in_the_dataset() -> None:
    values = [b"fine", None, b"", b"fine", b"bad \xff"]
    texts = Dataset(pa.table({"text": pa.array(values, pa.binary())}))
    with pytest.raises(
        InvalidUtf8, match=r"^document 4, byte 4: expected UTF-8, got byte 255; hint: repair"
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
    ({"tail": "keep"}, "tail: expected one of 'pad', 'carry', 'drop', got 'keep'"),
    ({"tail": True}, "tail: expected one of"),
    ({"pack": 1}, "pack: expected True or False, got 1"),
    ({"pack": None}, "pack: expected True or False"),
    ({"mask_overlap": "yes"}, "mask_overlap: expected True or False"),
    ({"ignore_index": 1.0}, "ignore_index: expected a whole number"),
    ({"ignore_index": True}, "ignore_index: expected a whole number"),
    ({"ignore_index": 2**31}, "ignore_index: expected a whole number"),
    ({"max_rows": 0}, "max_rows: expected a whole number from 1, got 0"),
    ({"max_chunks": -1}, "max_rows: expected"),
    ({"max_rows": 1, "max_chunks": 2}, "expected one of max_rows and max_chunks, got 1 and 2"),
    ({"text_column": 3}, "text_column: expected the name of a column, or None, got 3"),
    ({"text_column": ""}, "text_column: expected"),
    ({"keep_columns": "n"}, "keep_columns: expected a list of columns, got 'n'"),
    ({"keep_columns": 3}, "keep_columns: expected a list"),
    ({"keep_columns": [3], "pack": False}, "keep_columns: expected names of columns, got 3"),
    ({"keep_columns": ["labels"], "pack": False}, "keep_columns: 'labels' is a column of the res"),
    ({"keep_columns": ["n", "n"], "pack": False}, "keep_columns: expected each column once"),
    ({"special_in_text": "drop"}, "special_in_text: expected one of 'text', 'encode', 'raise'"),
    ({"eos": "</nothing>"}, "eos: the tokenizer has no token '</nothing>'"),
    ({"bos": True}, "bos: the tokenizer does not define one"),
    ({"pad": 10**6}, "pad: the tokenizer has no token 1000000"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_OPTIONS, ids=str)
def test_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        made().tokenize(dataset(["a"], n=[1]), **options)
    assert str(caught.value).startswith(message)


def test_a_row_that_no_memory_could_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "available_bytes", lambda: 8 << 30)
    giant = made(context_length=2**31 - 1)
    with pytest.raises(OptionError, match=r"^context_length: a row of 2,147,483,647 tokens"):
        giant.tokenize(dataset(["text"]))
    assert len(giant.tokenize(dataset(["text"]), tail="drop")) == 0
