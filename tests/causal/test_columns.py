"""Columns of a dataset: which one is the text, which are kept, which types are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from tests.causal.corpus import dataset, features, made, paragraphs, rows

from tokenmill import OptionError
from tokenmill._read import ReadRules, find_field, find_inputs

if TYPE_CHECKING:
    from pathlib import Path


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


def test_the_text_column_is_found_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    only = Dataset.from_dict({"n": [1], "content": ["hello"]})
    usual = Dataset.from_dict({"title": ["t"], "text": ["hello"]})
    assert rows(only) == rows(usual) == rows(dataset(["hello"]))
    assert "text column 'content' (detected)" in caplog.messages
    assert "columns: dropped n" in caplog.messages
    assert "text column 'text' (detected)" in caplog.messages
    assert "columns: dropped title" in caplog.messages


def test_a_missing_column_is_reported_with_all_columns() -> None:
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


def test_a_dataset_without_columns_is_refused() -> None:
    with pytest.raises(OptionError, match=r"no column holds strings.*the dataset has no columns"):
        made().tokenize(Dataset.from_dict({}))


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
    assert list(result.features) == [*features(), "tags", "label", "text"]
    assert result.features["label"] == columns["label"]
    long = len(result) - 1
    assert long > 3
    assert result["tags"] == [["a", "b"]] * long + [["c"]]
    assert result["label"] == [0] * long + [1]
    assert set(result["text"][:long]) == {values["text"][0]}


def test_the_stream_keeps_no_columns() -> None:
    with pytest.raises(OptionError, match="keep_columns: a row of the stream holds several"):
        made().tokenize(dataset(["a"], n=[1]), keep_columns=["n"])


def test_a_transform_is_applied(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"title": ["t"], "content": ["c"]}, "content"),
        ({"raw_content": ["r"], "title": ["t"]}, "raw_content"),
        ({"raw_content": ["r"], "content": ["c"], "text": ["x"]}, "text"),
        ({"text": [3], "content": ["c"], "title": ["t"]}, "content"),
        ({"n": [1], "body": ["b"]}, "body"),
        ({"title": ["t"], "body": ["b"]}, None),
    ],
    ids=str,
)
def test_pack_finds_the_same_text_column(
    columns: dict[str, list[Any]], found: str | None, tmp_path: Path
) -> None:
    texts = Dataset.from_dict(columns)
    path = tmp_path / "rows.parquet"
    texts.to_parquet(path)
    if found is None:
        with pytest.raises(OptionError, match="none of them is called 'text', 'content' or 'raw"):
            made().tokenize(texts)
        with pytest.raises(OptionError, match="cannot detect which field"):
            find_field(find_inputs([path]).files, ReadRules())
        return
    assert rows(texts) == rows(dataset(columns[found]))
    assert find_field(find_inputs([path]).files, ReadRules()) == found


def test_bytes_are_the_text_only_without_strings_or_by_a_usual_name() -> None:
    strings, blob = pa.array(["hello"]), pa.array([b"bytes"], pa.binary())
    for table, found in (
        ({"body": strings, "blob": blob}, "hello"),
        ({"n": pa.array([1]), "blob": blob}, "bytes"),
        ({"title": strings, "content": blob}, "bytes"),
    ):
        assert rows(Dataset(pa.table(table))) == rows(dataset([found]))
