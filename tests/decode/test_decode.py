"""Decoding gives the bytes back, as the libraries do, and refuses numbers that are not ids."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from tests.models import ENCODE, Way, make_model, run_batch
from tests.strategies import EXAMPLES, TEXTS, class_strings, hostile_texts
from tests.vocabularies import JSON_NAMES, NAMES, json_tokenizer, payload, spec

from tokenmill import UnknownId, _core
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from tests.models import Engine

FASTEST = Way(_core.targets()[-1])


@pytest.fixture(scope="module", params=NAMES)
def named(request: pytest.FixtureRequest) -> tuple[str, Engine]:
    return request.param, make_model(payload(request.param), FASTEST)


def test_decoding_undoes_encoding(named: tuple[str, Engine]) -> None:
    _, model = named
    texts = [*EXAMPLES, *class_strings(41, 200, 300), *hostile_texts(5000).values()]
    ids, offsets = run_batch(model, texts)
    data = [text.encode() for text in texts]
    assert model.decode_batch(ids, offsets) == data
    assert model.decode(ids) == b"".join(data)


@settings(max_examples=40)
@given(text=TEXTS)
def test_any_text_comes_back(text: str) -> None:
    for name in NAMES:
        model = _MODELS.setdefault(name, make_model(payload(name), FASTEST))
        assert model.decode(model.encode(text, False, ENCODE, 0)) == text.encode()


_MODELS: dict[str, Engine] = {}


def test_every_id_decodes_to_its_bytes(named: tuple[str, Engine]) -> None:
    name, model = named
    table = spec(name).model
    assert isinstance(table, BpeModel)
    for token_id, data in enumerate(table.decode_bytes):
        assert model.token_bytes(token_id) == (data or b"")
    every = np.arange(len(table.decode_bytes), dtype=np.uint32)
    assert model.decode(every) == b"".join(data or b"" for data in table.decode_bytes)


def test_tokens_are_found_by_their_bytes(named: tuple[str, Engine]) -> None:
    name, model = named
    table = spec(name).model
    assert isinstance(table, BpeModel)
    for token_id, data in enumerate(table.tokens):
        if data:
            assert model.token_id(data) == token_id
    assert model.token_id(b"") == -1
    assert model.token_id(b"no such token \xff\xfe") == -1


@pytest.mark.parametrize("name", JSON_NAMES)
def test_random_ids_decode_as_the_library_decodes_them(name: str) -> None:
    model, library = make_model(payload(name), FASTEST), json_tokenizer(name)
    if spec(name).unsupported_decode:
        pytest.fail("decoding is expected to be native for this vocabulary")
    choose = random.Random(13)  # noqa: S311
    for _ in range(300):
        ids = [choose.randrange(model.vocab_size) for _ in range(choose.randrange(30))]
        got = model.decode(np.array(ids, dtype=np.uint32)).decode(errors="replace")
        assert got == library.decode(ids, skip_special_tokens=False), ids


@pytest.mark.parametrize("name", ["cl100k", "o200k"])
def test_random_ids_decode_as_the_rank_library_decodes_them(name: str) -> None:
    source = spec(name)
    assert isinstance(source.model, BpeModel)
    ranks = {token: i for i, token in enumerate(source.model.tokens) if token is not None}
    library = tiktoken.Encoding(
        name, pat_str=".", mergeable_ranks=ranks, special_tokens=source.special_tokens
    )
    model = make_model(payload(name), FASTEST)
    known = [*ranks.values(), *source.special_tokens.values()]
    choose = random.Random(14)  # noqa: S311
    for _ in range(300):
        ids = choose.choices(known, k=choose.randrange(30))
        assert model.decode(np.array(ids, dtype=np.uint32)) == library.decode_bytes(ids)


def test_an_id_beyond_the_vocabulary_is_refused(named: tuple[str, Engine]) -> None:
    _, model = named
    size = model.vocab_size
    for wrong in (size, size + 1, 0xFFFF_FFFF):
        with pytest.raises(UnknownId, match=str(wrong)):
            model.decode(np.array([0, wrong], dtype=np.uint32))
    for wrong in (-1, size, 1 << 40):
        with pytest.raises(UnknownId, match=str(wrong)):
            model.token_bytes(wrong)


@pytest.mark.parametrize("offsets", [[0, 3], [1, 0], [-1, 1], [0, 2, 1]])
def test_offsets_that_do_not_fit_are_refused(offsets: list[int]) -> None:
    model = make_model(payload("gpt2"), FASTEST)
    with pytest.raises(ValueError, match="offsets"):
        model.decode_batch(np.array([1, 2], dtype=np.uint32), np.array(offsets, dtype=np.int64))
