"""`tokenmill.compat.hf.decoders` against `tokenizers.decoders`."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
import tokenizers
from tests.compat.cases import TEXTS, definition, word_level
from tests.compat.outcome import exact_outcome

import tokenmill.compat.hf
from tokenmill.compat.hf import Tokenizer, decoders

BYTE_FALLBACK: dict[str, Any] = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}


def byte_fallback() -> dict[str, Any]:
    """A tokenizer.json whose ids are bytes, written as "<0xNN>", and a few words."""
    made = definition("none")
    words = ["\u2581", "\u2581he", "llo", "\u00e9", "\u2581\u4f60"]
    tokens = [*(f"<0x{byte:02X}>" for byte in range(256)), *words]
    made["pre_tokenizer"], made["added_tokens"], made["decoder"] = None, [], BYTE_FALLBACK
    made["model"] = {
        "type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": [],
        "byte_fallback": True, "unk_token": None,
    }  # fmt: skip
    return made


DEFINITIONS = {"byte_level": definition, "words": word_level, "byte_fallback": byte_fallback}


def steps(stream: Any, tokenizer: Any, ids: list[Any]) -> list[Any]:
    """Return what each step returns or raises."""
    return [exact_outcome(stream.step, tokenizer, one) for one in ids]


def test_the_module_has_the_names_of_the_library() -> None:
    theirs = {name for name in dir(tokenizers.decoders) if name[0].isupper()}
    assert set(decoders.__all__) == theirs
    assert tokenmill.compat.hf.decoders is decoders
    assert "decoders" in dir(tokenmill.compat.hf)
    for name in theirs - {"DecodeStream"}:
        assert getattr(decoders, name) is getattr(tokenizers.decoders, name)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_streams_return_and_raise_what_those_of_the_library_do(name: str) -> None:
    text = json.dumps(DEFINITIONS[name]())
    theirs, ours = tokenizers.Tokenizer.from_str(text), Tokenizer.from_str(text)
    choose = random.Random(name)  # noqa: S311
    size = theirs.get_vocab_size()
    for _ in range(150):
        ids: list[Any] = [choose.randrange(size + 2) for _ in range(choose.randrange(1, 12))]
        if choose.random() < 0.5:
            ids[choose.randrange(len(ids))] = [choose.randrange(size) for _ in range(3)]
        start = choose.choice([None, [], [choose.randrange(size) for _ in range(4)]])
        skip = choose.random() < 0.5
        expected = steps(tokenizers.decoders.DecodeStream(start, skip), theirs, ids)
        assert steps(decoders.DecodeStream(start, skip), ours, ids) == expected
        assert steps(decoders.DecodeStream(start, skip), theirs, ids) == expected


def test_texts_stream_back() -> None:
    text = json.dumps(definition())
    theirs, ours = tokenizers.Tokenizer.from_str(text), Tokenizer.from_str(text)
    for one in TEXTS:
        ids = theirs.encode(one).ids
        expected = steps(tokenizers.decoders.DecodeStream(), theirs, ids)
        assert steps(decoders.DecodeStream(), ours, ids) == expected


@pytest.mark.parametrize(
    "action",
    [
        lambda m, _: m.DecodeStream([1.5]),
        lambda m, _: m.DecodeStream(True),
        lambda m, _: m.DecodeStream(None, 5),
        lambda m, _: m.DecodeStream().step(5, 6),
        lambda m, _: m.DecodeStream().step(None, 6),
        lambda m, t: m.DecodeStream().step(t, "a"),
        lambda m, t: m.DecodeStream().step(t, -1),
        lambda m, t: m.DecodeStream().step(t, [2**33]),
        lambda m, t: m.DecodeStream().step(t, []),
        lambda m, t: m.DecodeStream(ids=[72], skip_special_tokens=None).step(t, id=73),
    ],
)
def test_unusual_arguments(action: Any) -> None:
    text = json.dumps(definition())
    expected = exact_outcome(action, tokenizers.decoders, tokenizers.Tokenizer.from_str(text))
    assert exact_outcome(action, decoders, Tokenizer.from_str(text)) == expected


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_continues_on_its_own(copied: Any) -> None:
    tokenizer = Tokenizer.from_str(json.dumps(definition()))
    stream = decoders.DecodeStream()
    assert stream.step(tokenizer, 0xE2) is None
    other = copied(stream)
    assert stream.step(tokenizer, [0x82, 0xAC]) == "\u20ac"
    assert other.step(tokenizer, [0x82, 0xAD]) == "\u20ad"


def test_a_stream_sees_a_change_of_the_tokenizer() -> None:
    tokenizer = Tokenizer.from_str(json.dumps(definition()))
    tokenizer.decoder = decoders.Fuse()
    assert decoders.DecodeStream().step(tokenizer, 256) == "he"
    tokenizer.add_tokens(["brand new"])
    new = tokenizer.token_to_id("brand new")
    assert decoders.DecodeStream().step(tokenizer, new) == "brand new"
