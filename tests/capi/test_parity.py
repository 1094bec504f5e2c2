"""What the C interface gives is what Python gives: ids, offsets, texts, names."""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from tests import vocabularies
from tests.capi.library import STATUS, StatusError
from tests.decode.chains import BYTES, SINGLE, definition, random_decoder
from tests.load.sources import write_json
from tests.strategies import class_strings

from tokenmill import ReferencePathWarning, Tokenizer, TokenmillError
from tokenmill._model.resolve import compile_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.capi.library import CTokenizer, Library

TEXTS = [
    "", " ", "Hello world", "a\x00b", "It's 2026, isn't it?\n\n  x",
    "\u4f60\u597d\uff0c\u4e16\u754c", "caf\u00e9 \U0001f600\U0001f469\u200d\U0001f680 z",
    *class_strings(seed=5, count=25, length=300),
]  # fmt: skip

UNITS: tuple[tuple[Literal["byte", "char"], int], ...] = (("byte", 1), ("char", 2))


def pair(library: Library, path: Path) -> tuple[CTokenizer, Tokenizer]:
    return library.load(path), Tokenizer.load(path)


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_ids_and_offsets_are_those_of_python(
    name: str, library: Library, mills: dict[str, Path]
) -> None:
    ours, python = pair(library, mills[name])
    data = [text.encode() for text in TEXTS]
    for special in (False, True):
        for unit, number in UNITS:
            want = python.encode_batch(TEXTS, add_special_tokens=special, offsets=unit)
            options = {"add_special_tokens": int(special), "offsets": number, "threads": 2}
            got = ours.encode_batch(data, **options)
            assert np.array_equal(got.ids, want.ids)
            assert np.array_equal(got.rows, want.offsets)
            assert got.offsets is not None
            assert want.spans is not None
            assert np.array_equal(got.offsets, want.spans)
        for text, row in zip(TEXTS, want, strict=True):
            assert ours.encode(text.encode(), add_special_tokens=special).ids.tolist() == list(row)
            assert ours.encode_into(text.encode(), 2000, add_special_tokens=special) == list(row)
            assert ours.count(text.encode(), add_special_tokens=special) == len(row)


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_offsets_of_utf16_cut_a_string_where_characters_do(
    name: str, library: Library, mills: dict[str, Path]
) -> None:
    ours, python = pair(library, mills[name])
    for text in TEXTS:
        units = text.encode("utf-16-le")
        got = ours.encode(text.encode(), offsets=3).offsets
        want = python.encode_batch([text], offsets="char").spans
        assert got is not None
        assert want is not None
        for (begin, end), (first, last) in zip(got.tolist(), want.tolist(), strict=True):
            assert units[2 * begin : 2 * end].decode("utf-16-le") == text[first:last]


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_decoded_texts_are_those_of_python(
    name: str, library: Library, mills: dict[str, Path]
) -> None:
    ours, python = pair(library, mills[name])
    choose = random.Random(7)  # noqa: S311
    often = [*ours.special_ids(), *range(300)]
    rows = [python.encode(text).tolist() for text in TEXTS]
    for _ in range(60):
        pool: Any = often if choose.random() < 0.4 else range(ours.vocab_size())
        rows.append([choose.choice(pool) for _ in range(choose.randrange(30))])
    compare_rows(ours, python, rows)


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_names_and_bytes_of_tokens_are_those_of_python(
    name: str, library: Library, mills: dict[str, Path]
) -> None:
    ours, python = pair(library, mills[name])
    assert ours.vocab_size() == python.vocab_size
    assert ours.special_ids() == list(python.special_tokens.values())
    step = max(1, ours.vocab_size() // 300)
    for token_id in [*range(0, ours.vocab_size(), step), *range(260), *ours.special_ids()[:20]]:
        token = outcome(python.id_to_token, token_id)
        assert outcome(ours.id_to_token, token_id) == token
        bytes_ = outcome(python.token_bytes, token_id)
        assert outcome(ours.id_to_bytes, token_id) == bytes_
        if token is not None:
            assert outcome(ours.token_to_id, token) == python.token_to_id(token)
    assert outcome(ours.token_to_id, "no such token at all") is None


def test_random_chains_of_decoders_are_those_of_python(library: Library, tmp_path: Path) -> None:
    choose = random.Random(12)  # noqa: S311
    decoders = [None, *SINGLE, *(random_decoder(choose) for _ in range(120))]
    seen = 0
    for number, decoder in enumerate(decoders):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReferencePathWarning)
            source = write_json(tmp_path, definition(decoder, gap=number % 4 == 0))
            path = tmp_path / f"{number}.mill"
            compile_file(source, path)
        ours, python = pair(library, path)
        if "Regex" in str(decoder):
            with pytest.raises(StatusError, match="reference library") as caught:
                ours.decode([1])
            assert caught.value.status == STATUS["UNSUPPORTED"]
            continue
        seen += 1
        often = [i for i in map(python.token_to_id, BYTES) if i is not None]
        rows = [[choose.randrange(ours.vocab_size()) for _ in range(14)] for _ in range(4)]
        rows += [[choose.choice([*often, *often, 3, 9]) for _ in range(12)] for _ in range(4)]
        compare_rows(ours, python, rows)
    assert seen > 60


def compare_rows(ours: CTokenizer, python: Tokenizer, rows: list[list[int]]) -> None:
    for number, row in enumerate(rows):
        skip, clean = number % 2 == 0, number % 3 == 0
        want = python.decode(row, skip_special_tokens=skip, clean_up=clean)
        options = {"skip_special_tokens": int(skip), "clean_up": int(clean)}
        assert ours.decode(row, **options).decode() == want, row
        raw = python.decode_bytes(row, skip_special_tokens=skip)
        assert ours.decode(row, skip_special_tokens=int(skip), as_bytes=1) == raw, row
        mine, theirs = (
            ours.stream(**options),
            python.decode_stream(skip_special_tokens=skip, clean_up=clean),
        )
        steps = [(mine.push(token_id), theirs.push(token_id)) for token_id in row]
        steps.append((mine.finish(), theirs.finish()))
        assert "".join(one for one, _ in steps) == want, row
        # Python holds back half a surrogate for one byte longer, which becomes U+FFFD all the same.
        if "\ufffd" not in want:
            assert [one for one, _ in steps] == [other for _, other in steps], row
        assert mine.push(*row) + mine.finish() == want, row


def outcome(call: Callable[[Any], Any], argument: Any) -> Any:
    """The result, or None for an id or a token that is unknown."""
    try:
        return call(argument)
    except TokenmillError:
        return None
    except StatusError as error:
        assert error.status in {STATUS["UNKNOWN_ID"], STATUS["UNKNOWN_TOKEN"]}  # noqa: PT017
        return None
