"""Options for rows: defaults, what is refused, and with which words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tokenmill import (
    DtypeError,
    EncodedBatch,
    EncodeError,
    InvalidUtf8,
    OptionError,
    TextTypeError,
    TokenBatch,
)

if TYPE_CHECKING:
    from tokenmill import Tokenizer

CUT: dict[str, Any] = {"truncation": "longest_first", "max_length": 4}


def encode(tokenizer: Tokenizer, *texts: str, **options: Any) -> EncodedBatch:
    batch = tokenizer.encode_batch(texts, **options)
    assert isinstance(batch, EncodedBatch)
    return batch


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pairs": None, "truncation": None, "padding": None, "max_length": None},
        {"return_type_ids": False, "return_attention_mask": False, "stride": 0, "pad_id": 7},
    ],
)
def test_without_a_wish_for_rows_the_result_is_a_token_batch(
    small: Tokenizer, options: dict[str, Any]
) -> None:
    assert isinstance(small.encode_batch(["hello"], **options), TokenBatch)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"truncation": "longest", "max_length": 4}, "truncation: expected one of None, 'longest_"),
        ({"truncation": True, "max_length": 4}, "truncation: expected one of"),
        ({"truncation": "only_first"}, "'only_first' needs max_length"),
        ({**CUT, "max_length": -1}, "max_length: expected a whole number"),
        ({**CUT, "max_length": True}, "max_length: expected a whole number"),
        ({**CUT, "max_length": 4.0}, "max_length: expected a whole number"),
        ({**CUT, "stride": -1}, "stride: expected a whole number"),
        ({**CUT, "truncation_side": "top"}, "truncation_side: expected one of 'right', 'left'"),
        ({**CUT, "truncation_side": None}, "truncation_side: expected one of"),
        ({"stride": 2}, "stride: windows come from truncation"),
        ({"max_length": 4}, "max_length: nothing uses it"),
        ({"padding": "longest", "max_length": 4}, "max_length: nothing uses it"),
        ({"padding": "max_length"}, "'max_length' needs max_length"),
        ({"padding": "shortest"}, "padding: expected one of None, 'longest', 'max_length'"),
        ({"padding": "longest", "padding_side": ["left"]}, "padding_side: expected one of"),
        ({"padding": "longest", "pad_to_multiple_of": 0}, "pad_to_multiple_of: expected a whole"),
        ({"pad_to_multiple_of": 8}, "pad_to_multiple_of: needs padding"),
        ({"padding": "longest", "pad_id": -1}, "pad_id: expected a whole number"),
        ({"padding": "longest", "pad_type_id": 1 << 32}, "pad_type_id: expected a whole number"),
        ({"pairs": ["one", "two", "three"]}, "pairs: expected 2 texts, one for each, got 3"),
        ({**CUT, "stride": 5}, "stride: expected less than max_length"),
        ({**CUT, "max_length": 0, "add_special_tokens": True}, "room for the 1 special tokens"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(
    small: Tokenizer, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(OptionError, match=problem):
        small.encode_batch(["hello world", "a"], **options)


def test_an_unknown_option_is_a_type_error(small: Tokenizer) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'paddings'"):
        small.encode_batch(["a"], paddings="longest")  # type: ignore[call-overload]


def test_a_text_that_cannot_be_cut_is_named(small: Tokenizer) -> None:
    with pytest.raises(EncodeError, match=r"document 1.*too short") as caught:
        encode(small, "abcd", "ab", pairs=["", "abcdef"], truncation="only_first", max_length=4)
    assert caught.value.document == 1
    with pytest.raises(EncodeError, match=r"document 1.*second text"):
        encode(small, "abcd", "abcde", truncation="only_second", max_length=4)
    with pytest.raises(EncodeError, match=r"document 0.*stride below the 2 tokens"):
        encode(small, "abcd", pairs=["abcd"], stride=2, **CUT)


def test_a_row_that_is_longer_than_the_table_is_named(small: Tokenizer) -> None:
    with pytest.raises(EncodeError, match=r"document 1.*at most 3 tokens, got one of 5"):
        encode(small, "ab", "abcde", padding="max_length", max_length=3)


def test_pairs_are_texts_and_nothing_else(small: Tokenizer) -> None:
    with pytest.raises(TextTypeError, match="pairs: expected a list of texts, got str"):
        small.encode_batch(["a"], pairs="b")
    with pytest.raises(TextTypeError, match="tuple"):
        small.encode_batch([("a", "b")], padding="longest")
    with pytest.raises(InvalidUtf8):
        small.encode_batch([b"a"], pairs=[b"\xff"])
    column = pa.array(["b", "c"])
    from_arrow = encode(small, "a", "a", pairs=column, return_type_ids=True)
    assert from_arrow == encode(small, "a", "a", pairs=iter([b"b", "c"]), return_type_ids=True)


@pytest.mark.parametrize("dtype", ["uint32", "uint16", "int64", np.int32])
def test_ids_have_the_type_that_was_asked_for(small: Tokenizer, dtype: Any) -> None:
    batch = encode(small, "hello world", "a", padding="longest", pad_id=3, dtype=dtype)
    assert batch.ids.dtype == np.dtype(dtype)
    assert batch.tolist() == encode(small, "hello world", "a", padding="longest", pad_id=3).tolist()


def test_a_type_that_is_too_small_is_refused(small: Tokenizer) -> None:
    with pytest.raises(DtypeError, match="uint16 holds ids up to 65535, got 65536"):
        encode(small, "a", padding="longest", pad_id=65536, dtype="uint16")
    for dtype in ("int8", "float64", "nothing"):
        with pytest.raises(DtypeError, match="dtype: expected"):
            encode(small, "a", padding="longest", dtype=dtype)


def test_the_attention_mask_comes_with_padding_unless_it_is_declined(small: Tokenizer) -> None:
    assert encode(small, "a", padding="longest").attention_mask is not None
    assert encode(small, "a", padding="longest", return_attention_mask=False).attention_mask is None
    assert encode(small, "a", return_type_ids=True).attention_mask is None
    assert encode(small, "a", return_attention_mask=True).attention_mask is not None


def test_one_text_is_cut_and_paired_as_in_a_batch(small: Tokenizer) -> None:
    row = encode(small, "abcdef", pairs=["xyz"], **CUT)[0]
    cut: dict[str, Any] = {"truncation": "longest_first", "max_length": 4}
    assert small.encode("abcdef", pair="xyz", **cut).tolist() == row.ids.tolist()
    left = small.encode("abcdef", truncation_side="left", add_special_tokens=True, **cut)
    assert left.tolist() == [small.special_tokens["<s>"], *b"def"]
    assert small.encode("abcdef", pair="x").tolist() == small.encode("abcdefx").tolist()
    with pytest.raises(OptionError, match="nothing uses it"):
        small.encode("a", max_length=3)


def test_special_tokens_in_texts_are_treated_as_elsewhere(small: Tokenizer) -> None:
    as_text = encode(small, "<s>", return_special_mask=True, special_in_text="text")
    as_token = encode(small, "<s>", return_special_mask=True)
    assert as_text.ids.tolist() == small.encode("<s>", special_in_text="text").tolist()
    assert as_token.ids.tolist() == [small.special_tokens["<s>"]]
    # It is in the text, so it is not what was put around it.
    assert as_token.tolist("special_mask") == [[0]]
