"""Offsets as results: in batches and rows, through the library, and where there are none."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

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


def dropping() -> dict[str, Any]:
    """A vocabulary that drops characters: the library counts what follows from another place."""
    return tokenizer_json(vocab={"a": 0, "b": 1}, pre_tokenizer={"type": "WhitespaceSplit"})


def trimmed_twice() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(byte_level(True, tokenizers.processors.ByteLevel()).to_str())
    again = {**made["post_processor"], "add_prefix_space": False}
    made["post_processor"] = {"type": "Sequence", "processors": [made["post_processor"], again]}
    return made


def trimmed_characters() -> dict[str, Any]:
    made = dropping()
    made["model"] |= {"unk_token": "a"}
    made["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    return made


@pytest.mark.parametrize("make", [dropping, trimmed_twice, trimmed_characters])
def test_offsets_that_only_the_library_has(make: Any, tmp_path: Path) -> None:
    definition = make()
    library = tokenizers.Tokenizer.from_str(json.dumps(definition))
    tokenizer = Tokenizer.load(write_json(tmp_path, definition))
    assert tokenizer.describe().path != "reference"
    choose = random.Random(7)  # noqa: S311
    texts = [
        "".join(choose.choices("ab \u00e9\u4e2d  the", k=choose.randrange(9))) for _ in range(99)
    ]
    with pytest.warns(ReferencePathWarning, match="offsets come from the library 'tokenizers'"):
        batch = tokenizer.encode_batch(texts, offsets="char")
    expected = library.encode_batch(texts, add_special_tokens=False)
    assert batch.tolist() == [one.ids for one in expected] == tokenizer.encode_batch(texts).tolist()
    assert batch.spans is not None
    assert batch.spans.tolist() == [list(span) for one in expected for span in one.offsets]
    in_bytes = tokenizer.encode_batch(texts, offsets="byte").spans  # warned once
    assert in_bytes is not None
    texts_of_tokens = [text for text, one in zip(texts, expected, strict=True) for _ in one.ids]
    assert in_bytes.tolist() == [
        [len(text[:place].encode()) for place in span]
        for text, span in zip(texts_of_tokens, batch.spans.tolist(), strict=True)
    ]


def test_rows_with_offsets_that_only_the_library_has(tmp_path: Path) -> None:
    library = tokenizers.Tokenizer.from_str(json.dumps(trimmed_twice()))
    tokenizer = Tokenizer.load(write_json(tmp_path, trimmed_twice()))
    with pytest.warns(ReferencePathWarning, match="trimmed more than once"):
        rows = tokenizer.encode_batch(
            TEXTS, pairs=TEXTS[::-1], offsets="char", truncation="longest_first", max_length=9
        )
    library.enable_truncation(9)
    expected = library.encode_batch(list(zip(TEXTS, TEXTS[::-1], strict=True)))
    assert rows.tolist() == [one.ids for one in expected]
    assert rows.spans is not None
    assert rows.spans.tolist() == [list(span) for one in expected for span in one.offsets]


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
