"""Every chain of decoders gives what the library gives, whole and in pieces."""

from __future__ import annotations

import json
import pickle
import random
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from tests.conftest import small_definition
from tests.decode.chains import BYTES, SINGLE, definition, ids_of, random_decoder, replace, strip
from tests.load.sources import write_json

from tokenmill import LoadError, ReferencePathWarning, Tokenizer, UnknownId

if TYPE_CHECKING:
    from pathlib import Path

LLAMA = {
    "type": "Sequence",
    "decoders": [
        replace(" ", String="\u2581"), {"type": "ByteFallback"}, {"type": "Fuse"}, strip(" ", 1, 0)
    ],
}  # fmt: skip


def load(directory: Path, data: dict[str, Any]) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReferencePathWarning)
        tokenizer = Tokenizer.load(write_json(directory, data))
    return tokenizer, tokenizers.Tokenizer.from_str(json.dumps(data))


def random_rows(size: int, often: list[int], choose: random.Random, count: int) -> list[list[int]]:
    """Rows of ids; in half of them, those named in `often` are frequent."""
    rows = []
    for number in range(count):
        row = [choose.randrange(size) for _ in range(choose.randrange(14))]
        if number % 2:
            row = [choose.choice(often) if choose.random() < 0.6 else i for i in row]
        rows.append(row)
    return rows


def check(tokenizer: Tokenizer, library: tokenizers.Tokenizer, rows: list[list[int]]) -> None:
    assert tokenizer.describe().decoder == "native"
    for number, row in enumerate(rows):
        skip = number % 3 == 0
        try:
            expected = library.decode(row, skip_special_tokens=skip)
        except BaseException as error:
            # The library's Strip falls over tokens shorter than what it may strip.
            assert type(error).__name__ == "PanicException"  # noqa: PT017
            continue
        assert tokenizer.decode(row, skip_special_tokens=skip) == expected, row
        stream = tokenizer.decode_stream(skip_special_tokens=skip)
        assert "".join([*map(stream.push, row), stream.finish()]) == expected, row
        cut = len(row) // 2
        halves = [stream.push_many(row[:cut]), stream.push_many(row[cut:]), stream.finish()]
        assert "".join(halves) == expected, row


@pytest.mark.parametrize("decoder", [None, *SINGLE, LLAMA], ids=lambda d: d and d["type"])
def test_a_decoder_equals_the_library(decoder: dict[str, Any] | None, tmp_path: Path) -> None:
    tokenizer, library = load(tmp_path, definition(decoder))
    choose = random.Random(1)  # noqa: S311
    often = ids_of(library, BYTES)
    check(tokenizer, library, random_rows(tokenizer.vocab_size, often, choose, 60))


def test_random_chains_equal_the_library(tmp_path: Path) -> None:
    choose = random.Random(2)  # noqa: S311
    for number in range(250):
        data = definition(random_decoder(choose), gap=number % 4 == 0)
        tokenizer, library = load(tmp_path, data)
        often = ids_of(library, BYTES)
        check(tokenizer, library, random_rows(tokenizer.vocab_size, often, choose, 10))


@pytest.mark.parametrize("decoder", [None, *SINGLE, LLAMA], ids=lambda d: d and d["type"])
def test_a_compiled_model_keeps_its_decoder(decoder: Any, tmp_path: Path) -> None:
    tokenizer, library = load(tmp_path, {**small_definition(), "decoder": decoder})
    revived = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301
    assert revived.describe().path == "native"
    choose = random.Random(3)  # noqa: S311
    rows = random_rows(tokenizer.vocab_size, [265, 266, 0xC4, 0xA0], choose, 40)
    check(revived, library, rows)
    for token_id in range(tokenizer.vocab_size):
        token = revived.id_to_token(token_id)
        assert token == library.id_to_token(token_id)
        assert revived.token_to_id(token) == token_id


def test_a_pattern_without_an_automaton_goes_through_the_library(tmp_path: Path) -> None:
    decoder = replace("<>", Regex="(?<=a)b")
    tokenizer, library = load(tmp_path, {**small_definition(), "decoder": decoder})
    assert "the decoder's pattern" in tokenizer.describe().decoder
    row = [*ids_of(library, "abcab"), 265]
    for skip in (False, True):
        expected = library.decode(row, skip_special_tokens=skip)
        assert tokenizer.decode(row, skip_special_tokens=skip) == expected
        stream = tokenizer.decode_stream(skip_special_tokens=skip)
        assert "".join([*map(stream.push, row), stream.finish()]) == expected


def test_bytes_of_a_text_decoder_are_its_utf8(tmp_path: Path) -> None:
    tokenizer, library = load(tmp_path, definition(LLAMA))
    row = ids_of(library, ["\u2581the", "<0xE4>", "<0xBD>", "<0xA0>"])
    assert tokenizer.decode_bytes(row) == b"the\xe4\xbd\xa0"
    assert tokenizer.decode_bytes(row[:3]) == b"the\xef\xbf\xbd\xef\xbf\xbd"
    assert [tokenizer.token_bytes(i) for i in row[:2]] == [b" the", b"\xe4"]


def test_clean_up_takes_out_the_blanks_of_words(tmp_path: Path) -> None:
    tokenizer, library = load(tmp_path, definition(None))
    row = ids_of(library, ["the", ".", "the", "n't", "'s", "?", "do not"])
    assert tokenizer.decode(row) == "the . the n't 's ? do not"
    assert tokenizer.decode(row, clean_up=True) == "the. then't's? do not"
    assert tokenizer.decode_batch([row, []], clean_up=True) == ["the. then't's? do not", ""]
    stream = tokenizer.decode_stream(clean_up=True)
    assert "".join([*map(stream.push, row), stream.finish()]) == "the. then't's? do not"


def test_unknown_ids_are_refused(tmp_path: Path) -> None:
    tokenizer, _ = load(tmp_path, definition(LLAMA))
    size = tokenizer.vocab_size
    stream = tokenizer.decode_stream()
    assert stream.push(0) == "the"
    for wrong in (size, 1 << 40, -1):
        with pytest.raises(UnknownId, match=str(wrong)):
            tokenizer.decode([0, wrong])
        with pytest.raises(UnknownId, match=str(wrong)):
            stream.push(wrong)
    assert stream.push(0) + stream.finish() == "the"


@pytest.mark.parametrize(
    ("decoder", "problem"),
    [
        (strip("ab", 0, 0), "decoder.content: expected one character"),
        (strip(" ", -1, 0), "decoder.start: expected a number"),
        ({"type": "WordPiece", "prefix": "##"}, "decoder.cleanup: expected true or false"),
        (replace("x", Other="y"), 'decoder.pattern: expected "String" or "Regex"'),
        ({"type": "Sequence", "decoders": [{"type": "CTC"}]}, r"decoders\[0\].pad_token"),
        ({"type": "Metaspace", "replacement": "_", "prepend_scheme": "x"}, "prepend_scheme"),
    ],
)
def test_a_broken_decoder_is_a_load_error(
    decoder: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(LoadError, match=problem):
        load(tmp_path, {**small_definition(), "decoder": decoder})
