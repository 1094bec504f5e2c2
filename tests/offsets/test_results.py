"""Offsets as results: in batches and rows, through the library, and where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tokenizers
from tests.load.sources import rank_lines, tokenizer_json, write_json
from tests.offsets.tokenizers_of_every_kind import byte_level, word_piece

from tokenmill import OptionError, ReferencePathWarning, Tokenizer, UnsupportedTokenizer

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["the quick fox", "", "caf\u00e9 \u4e2d\u6587", "Hello the dog"]


def test_slices_carry_spans_along(small: Tokenizer) -> None:
    batch = small.encode_batch(TEXTS, offsets="char")
    assert batch.spans is not None
    assert batch.spans.shape == (len(batch.ids), 2)
    begin, end = batch.offsets[2], batch.offsets[4]
    tail = batch[2:]
    assert tail.spans is not None
    assert tail.spans.tolist() == batch.spans[begin:end].tolist()
    back = batch[::-1]
    assert back.spans is not None
    assert back.spans[: batch.offsets[4] - batch.offsets[3]].tolist() == (
        batch.spans[batch.offsets[3] :].tolist()
    )
    assert batch[:0].spans is not None


def test_bytes_and_str_have_the_same_spans(small: Tokenizer) -> None:
    as_bytes = small.encode_batch([text.encode() for text in TEXTS], offsets="char")
    assert small.encode_batch(TEXTS, offsets="char") == as_bytes


def test_repaired_text_counts_as_it_is_read(small: Tokenizer) -> None:
    batch = small.encode_batch([b"a\xffb"], offsets="byte", errors="replace")
    assert batch.spans is not None
    assert batch.spans.tolist() == [[0, 1], [1, 4], [1, 4], [1, 4], [4, 5]]


def test_spans_of_special_tokens_are_empty(small: Tokenizer) -> None:
    batch = small.encode_batch(["hello"], offsets="char", add_special_tokens=True)
    assert batch.spans is not None
    assert batch.spans.tolist() == [[0, 0], [0, 5]]


def test_unknown_unit(small: Tokenizer) -> None:
    with pytest.raises(OptionError, match="offsets: expected one of"):
        small.encode_batch(["a"], offsets="word")  # type: ignore[call-overload]


def test_rows_of_a_model() -> None:
    library = word_piece(True)
    tokenizer = Tokenizer.load(library)
    rows = tokenizer.encode_batch(
        TEXTS, pairs=TEXTS[::-1], offsets="char", add_special_tokens=True, padding="longest",
        truncation="longest_first", max_length=9, return_overflowing=True, stride=2,
    )  # fmt: skip
    library.enable_truncation(9, stride=2)
    library.enable_padding()
    expected = []
    for encoding in library.encode_batch(list(zip(TEXTS, TEXTS[::-1], strict=True))):
        expected += [encoding, *encoding.overflowing]
    assert rows.spans is not None
    assert rows.spans.shape == (*rows.ids.shape, 2)
    assert rows.spans.tolist() == [list(map(list, one.offsets)) for one in expected]
    assert rows.to_numpy()["spans"].dtype == np.int64
    second = rows[1].spans
    assert second is not None
    assert second.tolist() == rows.spans[1].tolist()


def test_windows_of_offsets_that_depend_on_their_place() -> None:
    tokenizer = Tokenizer.load(byte_level(True, tokenizers.processors.ByteLevel()))
    with pytest.raises(UnsupportedTokenizer, match="depend on where they begin"):
        tokenizer.encode_batch(
            TEXTS, offsets="char", truncation="longest_first", max_length=4, truncation_side="left"
        )


def test_vocabulary_that_drops_characters(tmp_path: Path) -> None:
    """Its library counts what follows a dropped character from the wrong place."""
    definition = tokenizer_json(vocab={"a": 0, "b": 1}, pre_tokenizer={"type": "WhitespaceSplit"})
    tokenizer = Tokenizer.load(write_json(tmp_path, definition))
    assert len(tokenizer.encode_batch(["a\u00e9b"]).ids) == 2
    with pytest.raises(UnsupportedTokenizer, match="drops characters"):
        tokenizer.encode_batch(["a\u00e9b"], offsets="char")


def test_offsets_of_a_rank_file(tmp_path: Path) -> None:
    path = tmp_path / "small.tiktoken"
    path.write_bytes(rank_lines({bytes([byte]): byte for byte in range(256)} | {b"ab": 256}))
    tokenizer = Tokenizer.load(path, pattern=r"\w+|\W+", special_tokens={"<e>": 300})
    batch = tokenizer.encode_batch(["ab\u4e2d<e>"], offsets="char")
    assert batch.spans is not None
    assert batch.spans.tolist() == [[0, 2], [2, 3], [2, 3], [2, 3], [3, 6]]


def test_offsets_through_the_library(tmp_path: Path) -> None:
    definition = tokenizer_json(model={"dropout": 0.0, "continuing_subword_prefix": "##"})
    definition["pre_tokenizer"] = {
        "type": "Split", "pattern": {"Regex": r"(\w)\1"}, "behavior": "Isolated", "invert": False,
    }  # fmt: skip
    with pytest.warns(ReferencePathWarning):
        tokenizer = Tokenizer.load(write_json(tmp_path, definition))
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    text = "aab\u00e9 ccd"
    expected = library.encode(text)
    in_chars = tokenizer.encode_batch([text], offsets="char")
    in_bytes = tokenizer.encode_batch([text], offsets="byte")
    assert in_chars.spans is not None
    assert in_bytes.spans is not None
    assert in_chars.ids.tolist() == expected.ids
    assert list(map(tuple, in_chars.spans.tolist())) == expected.offsets
    places = [len(text[:n].encode()) for n in range(len(text) + 1)]
    assert in_bytes.spans.tolist() == [[places[a], places[b]] for a, b in expected.offsets]
