"""Rows equal those of `tokenizers`: ids, types, masks, windows and their order, and errors."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.load.sources import tokenizer_json
from tests.post.processors import PROCESSORS
from tests.post.reference import Case, Refused, Row, rows_of_library

from tokenmill import EncodedBatch, EncodeError, OptionError, Tokenizer
from tokenmill._compile import compile_spec
from tokenmill._load.tokenizer_json import read_tokenizer_json
from tokenmill._model.ready import from_payload

if TYPE_CHECKING:
    from collections.abc import Iterator

STRATEGIES = ("longest_first", "only_first", "only_second")


@cache
def both(name: str) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    data = tokenizer_json(post_processor=PROCESSORS[name])
    text = json.dumps(data)
    ours = Tokenizer(from_payload(compile_spec(read_tokenizer_json(data, text.encode(), name))))
    return ours, tokenizers.Tokenizer.from_str(text)


def our_rows(tokenizer: Tokenizer, case: Case) -> list[Row]:
    batch = tokenizer.encode_batch(
        case.texts,
        pairs=case.pairs,
        add_special_tokens=case.add_special_tokens,
        return_type_ids=True,
        return_special_mask=True,
        return_attention_mask=True,
        **case.options,
    )
    assert isinstance(batch, EncodedBatch)
    samples = batch.overflow_to_sample
    columns = ("ids", "type_ids", "special_mask", "attention_mask")
    return list(
        zip(
            *(batch.tolist(column) for column in columns),
            range(len(batch)) if samples is None else samples.tolist(),
            strict=True,
        )
    )


def is_refused_by_us_alone(tokenizer: Tokenizer, case: Case, expected: list[Row]) -> bool:
    """Whether the library gives rows that nobody can have meant.

    With less room than special tokens it does not cut at all; rows that are longer than what they
    are padded to make no table.
    """
    options = case.options
    templates, is_pair = tokenizer.ready.templates, case.pairs is not None
    n_added = templates.n_added(is_pair=is_pair) if case.add_special_tokens else 0
    if options.get("truncation") and options["max_length"] < n_added:
        return True
    lengths = {len(ids) for ids, *_ in expected}
    multiple = options.get("pad_to_multiple_of") or 1
    asked = -(-options.get("max_length", 0) // multiple) * multiple
    return bool(options.get("padding")) and (
        len(lengths) > 1 or (options["padding"] == "max_length" and max(lengths, default=0) > asked)
    )


def check(name: str, case: Case) -> str:
    """Compare one call; return how it ended."""
    tokenizer, reference = both(name)
    try:
        expected = rows_of_library(reference, case)
    except Refused:
        with pytest.raises((OptionError, EncodeError)):
            our_rows(tokenizer, case)
        return "both refuse"
    if is_refused_by_us_alone(tokenizer, case, expected):
        with pytest.raises((OptionError, EncodeError)):
            our_rows(tokenizer, case)
        return "we refuse"
    assert our_rows(tokenizer, case) == expected
    return "equal"


def truncations() -> Iterator[dict[str, Any]]:
    yield {}
    sides = ("right", "left")
    for strategy, length, stride, side in product(STRATEGIES, (0, 4, 9), (0, 2), sides):
        yield {
            "truncation": strategy, "max_length": length, "stride": stride,
            "truncation_side": side, "return_overflowing": True,
        }  # fmt: skip


@pytest.mark.parametrize("name", PROCESSORS)
def test_every_truncation_of_texts_and_pairs(name: str) -> None:
    texts, pairs = ["Hello World!", "a", "Hello"], ["W", "a longer one", "World?"]
    ends = []
    for options, special, with_pairs in product(truncations(), (True, False), (True, False)):
        # One text at a time: a text that is refused must not hide the others.
        for text, pair in zip(texts, pairs, strict=True):
            case = Case([text], [pair] if with_pairs else None, special, options)
            ends.append(check(name, case))
    assert ends.count("equal") > len(ends) // 2
    assert "both refuse" in ends


@pytest.mark.parametrize("name", PROCESSORS)
def test_every_padding(name: str) -> None:
    cuts: list[dict[str, Any]] = [
        {},
        {"truncation": "longest_first"},
        {"truncation": "longest_first", "stride": 2, "return_overflowing": True},
    ]
    ends = []
    kinds = product(cuts, ("longest", "max_length"), ("right", "left"), (None, 1, 8), (True, False))
    for cut, padding, side, multiple, with_pairs in kinds:
        options = {
            **cut, "padding": padding, "padding_side": side, "pad_to_multiple_of": multiple,
            "pad_id": 200, "pad_type_id": 9,
        }  # fmt: skip
        if cut or padding == "max_length":
            options["max_length"] = 11
        pairs = ["b", "two words", ""] if with_pairs else None
        ends.append(check(name, Case(["", "seven letters", "a"], pairs, True, options)))
    assert ends.count("equal") > len(ends) // 2


lists = st.lists(st.text("ab ", max_size=14), max_size=4)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    texts = draw(lists)
    texts_like = st.lists(st.text("cd ", max_size=14), min_size=len(texts), max_size=len(texts))
    options: dict[str, Any] = {"return_overflowing": draw(st.booleans())}
    truncation = draw(st.sampled_from([None, *STRATEGIES]))
    padding = draw(st.sampled_from([None, "longest", "max_length"]))
    if truncation or padding == "max_length":
        options["max_length"] = draw(st.integers(0, 20))
    if truncation:
        options |= {
            "truncation": truncation,
            "stride": draw(st.integers(0, 4)),
            "truncation_side": draw(st.sampled_from(["right", "left"])),
        }
    if padding:
        options |= {
            "padding": padding,
            "padding_side": draw(st.sampled_from(["right", "left"])),
            "pad_to_multiple_of": draw(st.sampled_from([None, 1, 3, 8])),
            "pad_id": draw(st.integers(0, 300)),
            "pad_type_id": draw(st.integers(0, 3)),
        }
    return Case(texts, draw(st.none() | texts_like), draw(st.booleans()), options)


@settings(max_examples=200)
@given(st.sampled_from(sorted(PROCESSORS)), cases())
def test_any_call(name: str, case: Case) -> None:
    check(name, case)


@pytest.mark.slow
@settings(max_examples=20_000)
@given(st.sampled_from(sorted(PROCESSORS)), cases())
def test_very_many_calls(name: str, case: Case) -> None:
    check(name, case)
