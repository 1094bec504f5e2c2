"""EncodedBatch: rows, slices, tables, tensors, and columns of any kind."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tokenmill import EncodedBatch, MissingDependency, OptionError
from tokenmill._post import Encoded, Templates, assemble, wanted_of
from tokenmill._spec import TemplatePart

if TYPE_CHECKING:
    from tokenmill import Tokenizer

ALL: dict[str, Any] = {
    "return_type_ids": True,
    "return_special_mask": True,
    "return_attention_mask": True,
}
WINDOWS: dict[str, Any] = {
    "truncation": "longest_first",
    "max_length": 4,
    "stride": 1,
    "return_overflowing": True,
    "add_special_tokens": True,
}


@pytest.fixture
def flat(small: Tokenizer) -> EncodedBatch:
    batch = small.encode_batch(["abcdef", "", "x"], **ALL, **WINDOWS)
    assert isinstance(batch, EncodedBatch)
    return batch


@pytest.fixture
def padded(small: Tokenizer) -> EncodedBatch:
    batch = small.encode_batch(["abcdef", "", "x"], padding="longest", **ALL, **WINDOWS)
    assert isinstance(batch, EncodedBatch)
    return batch


def same(left: EncodedBatch, right: list[Any]) -> bool:
    return [vars_of(row) for row in left] == [vars_of(row) for row in right]


def vars_of(row: Any) -> list[Any]:
    columns = (row.ids, row.type_ids, row.special_mask, row.attention_mask)
    return [*(column.tolist() for column in columns), row.sample]


def test_rows_of_windows(flat: EncodedBatch, small: Tokenizer) -> None:
    begin = small.special_tokens["<s>"]
    expected = [[begin, *row] for row in (b"abc", b"cde", b"ef", b"", b"x")]
    assert flat.tolist() == expected
    assert flat.tolist("special_mask") == [[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0], [1], [1, 0]]
    assert flat.overflow_to_sample is not None
    assert flat.overflow_to_sample.tolist() == [0, 0, 0, 1, 2]
    assert flat.offsets.tolist() == [0, 4, 8, 11, 12, 14]


def test_padding_makes_tables(flat: EncodedBatch, padded: EncodedBatch) -> None:
    assert padded.ids.shape == (5, 4)
    assert padded.attention_mask is not None
    assert padded.attention_mask.sum(axis=1).tolist() == [len(row.ids) for row in flat]
    assert padded.offsets.tolist() == [0, 4, 8, 12, 16, 20]
    for table in padded.to_numpy().values():
        assert table.dtype == np.int64


@pytest.mark.parametrize("kind", ["flat", "padded"])
def test_indexing(kind: str, request: pytest.FixtureRequest) -> None:
    batch: EncodedBatch = request.getfixturevalue(kind)
    rows = list(batch)
    assert len(batch) == len(rows) == 5
    assert batch[-1].ids.base is not None  # a view
    assert vars_of(batch[-1]) == vars_of(rows[4])
    for part in (slice(1, 4), slice(3, 1), slice(None, None, 2), slice(None, None, -1), slice(9)):
        assert same(batch[part], rows[part])
        assert len(batch[part]) == len(rows[part])
    for wrong in (5, -6):
        with pytest.raises(IndexError, match="of a batch of 5"):
            batch[wrong]


def test_equal_by_content(flat: EncodedBatch, padded: EncodedBatch) -> None:
    assert flat == flat[:] == pickle.loads(pickle.dumps(flat))  # noqa: S301
    assert flat != padded
    assert flat != flat[1:]
    assert (flat == 1) is False
    assert EncodedBatch(flat.columns, flat.offsets) != flat


def test_names_that_models_use(padded: EncodedBatch) -> None:
    tables = padded.to_numpy()
    assert list(tables) == [
        "input_ids", "token_type_ids", "special_tokens_mask", "attention_mask",
        "overflow_to_sample_mapping",
    ]  # fmt: skip
    assert tables["input_ids"].tolist() == padded.tolist()


def test_rows_of_one_length_are_a_table_without_padding(
    small: Tokenizer, flat: EncodedBatch
) -> None:
    batch = small.encode_batch(["ab", "cd"], return_type_ids=True)
    assert batch.to_numpy()["input_ids"].shape == (2, 2)
    with pytest.raises(OptionError, match="rows of one length, got 1 to 4 tokens"):
        flat.to_numpy()


def test_an_empty_batch(small: Tokenizer) -> None:
    assert small.encode_batch([], padding="longest").ids.shape == (0, 0)
    fixed = small.encode_batch([], padding="max_length", max_length=5, pad_to_multiple_of=4)
    assert fixed.ids.shape == (0, 8)
    assert len(small.encode_batch([], pairs=[], **ALL, **WINDOWS)) == 0
    assert small.encode_batch([], return_type_ids=True).to_numpy()["input_ids"].shape == (0, 0)


def test_tensors_share_the_memory(
    padded: EncodedBatch, monkeypatch: pytest.MonkeyPatch, small: Tokenizer
) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=lambda a: ("tensor", a)))
    kind, table = padded.to_torch()["input_ids"]
    assert (kind, table.tolist()) == ("tensor", padded.tolist())
    wide = small.encode_batch(["a", "bc"], padding="longest", dtype="int64")
    assert wide.to_torch()["input_ids"][1].base is wide.ids.base
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependency, match="pip install torch"):
        padded.to_torch()


def test_repr_says_what_it_is(flat: EncodedBatch, padded: EncodedBatch) -> None:
    assert repr(padded).startswith("EncodedBatch(5 rows, 5x4 uint32 ids: ids, type_ids, ")
    assert repr(flat).startswith("EncodedBatch(5 rows, 14 uint32 ids: ")


def test_more_columns_go_through_the_same_rows() -> None:
    """Whatever there is for each token, as pairs of numbers, is cut and filled like the ids."""
    offsets = np.array([0, 3, 4])
    ids = np.array([10, 11, 12, 13], dtype=np.uint32)
    spans = np.array([[0, 1], [1, 3], [3, 4], [0, 9]])
    parts = (TemplatePart(ids=(7,)), TemplatePart("A"), TemplatePart(ids=(8,)))
    wanted = wanted_of(
        {
            "truncation": "longest_first", "max_length": 4, "return_overflowing": True,
            "padding": "longest", "padding_side": "left",
        }
    )  # fmt: skip
    assert wanted is not None
    batch = assemble(
        [Encoded(ids, offsets, {"spans": spans})],
        Templates(parts, None),
        wanted,
        add_special_tokens=True,
        dtype=np.uint32,
    )
    assert batch.tolist() == [[7, 10, 11, 8], [0, 7, 12, 8], [0, 7, 13, 8]]
    zero = [0, 0]
    assert batch.columns["spans"].tolist() == [
        [zero, [0, 1], [1, 3], zero],
        [zero, zero, [3, 4], zero],
        [zero, zero, [0, 9], zero],
    ]
    assert batch.to_numpy()["spans"].shape == (3, 4, 2)
