"""`tokenmill.compat.hf.Tokenizer` against `tokenizers.Tokenizer`: all that can be seen of both."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import random
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.cases import POST_PROCESSORS, TEXTS, definition, word_level
from tests.compat.outcome import outcome, view
from tokenizers import AddedToken, normalizers, processors

from tokenmill import ReferencePathWarning
from tokenmill.compat.hf import Encoding, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRUNCATIONS: list[dict[str, Any] | None] = [
    None,
    *(
        {"max_length": most, "stride": stride, "strategy": strategy, "direction": side}
        for most, stride, strategy, side in product(
            (0, 1, 3, 4, 6, 9, 20), (0, 1, 2, 5),
            ("longest_first", "only_first", "only_second"), ("left", "right"),
        )
    ),
]  # fmt: skip
PADDINGS: list[dict[str, Any] | None] = [
    None,
    {},
    {"length": 7},
    {"direction": "left", "pad_id": 9, "pad_type_id": 3, "pad_token": "X"},
    {"pad_to_multiple_of": 8, "direction": "left"},
    {"length": 5, "pad_to_multiple_of": 4},
]
WORDS = [text.split(" ") for text in TEXTS]
INPUTS: list[tuple[list[Any], bool]] = [
    (TEXTS, False),
    (list(zip(TEXTS, TEXTS[::-1], strict=True)), False),
    (WORDS, True),
    (list(zip(WORDS, WORDS[2:] + WORDS[:2], strict=True)), True),
    (["hello", ("hello", "world")], False),
    (["hello", "lone \ud800"], False),
    (["hello", 5], False),
    ([], False),
    ([("hello", "world"), ("world",), ("a", "b", "c")], True),
    ([["hello", "world"], ("hello", "world")], True),
]


def both(made: dict[str, Any]) -> tuple[Any, Tokenizer]:
    text = json.dumps(made)
    return tokenizers.Tokenizer.from_str(text), Tokenizer.from_str(text)


def agree(pair: tuple[Any, Any], action: Any) -> None:
    expected, got = (outcome(action, tokenizer) for tokenizer in pair)
    assert got == expected


def set_options(
    tokenizer: Any,
    truncation: dict[str, Any] | None,
    padding: dict[str, Any] | None,
) -> Any:
    if truncation is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(**truncation)
    if padding is None:
        tokenizer.no_padding()
    else:
        tokenizer.enable_padding(**padding)
    return tokenizer.truncation, tokenizer.padding


@pytest.mark.parametrize("name", POST_PROCESSORS)
def test_encodings_are_equal_under_all_options(name: str) -> None:
    pair = both(definition(name))
    assert pair[1].is_native
    choose = random.Random(name)  # noqa: S311
    cases = choose.sample(list(product(TRUNCATIONS, PADDINGS)), 8)
    for (truncation, padding), (inputs, words) in product(cases, INPUTS):
        agree(pair, lambda t, o=(truncation, padding): set_options(t, *o))
        special, as_text = choose.random() < 0.7, choose.random() < 0.3
        for tokenizer in pair:
            tokenizer.encode_special_tokens = as_text
        agree(pair, lambda t, i=inputs, w=words, s=special: [
            view(e) for e in t.encode_batch(i, is_pretokenized=w, add_special_tokens=s)
        ])  # fmt: skip


@pytest.mark.parametrize("sequence", [*TEXTS[:5], ("a", "b"), ["a", "b"], 5, None, b"x", "\udc00"])
def test_single_texts(sequence: Any) -> None:
    pair = both(definition())
    for words, second in product((False, True), (None, "hello", ["hello", "world"], 5)):
        agree(pair, lambda t, w=words, s=second: view(t.encode(sequence, s, is_pretokenized=w)))


@pytest.mark.parametrize("name", POST_PROCESSORS)
def test_what_was_encoded_bare_is_processed_later(name: str) -> None:
    def later(tokenizer: Any, *texts: str, **options: bool) -> Any:
        bare = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        found = tokenizer.post_process(*bare, **options)
        assert type(found) is type(bare[0])
        return found.ids, found.tokens, found.offsets, found.type_ids, found.special_tokens_mask

    pair = both(definition(name))
    for texts in (TEXTS[3:4], TEXTS[3:5]):
        agree(pair, lambda t, given=texts: later(t, *given))
        agree(pair, lambda t, given=texts: later(t, *given, add_special_tokens=False))
    agree(pair, lambda t: t.post_process("no encoding"))


@given(st.lists(st.text(max_size=30), min_size=1, max_size=3))
def test_hostile_texts(texts: list[str]) -> None:
    pair = _hostile_pair()
    agree(pair, lambda t: [view(e) for e in t.encode_batch(texts)])
    agree(pair, lambda t: t.decode(t.encode(texts[0]).ids, skip_special_tokens=False))


def test_decoding() -> None:
    pair = both(definition())
    rows: list[Any] = [
        [], [104, 101, 265], [265, 259, 266, 268], [1, 9999], [-1], ["a"], [1.0], "a", 5,
        [0xE2, 0x82], (1, 2), [2**33],
    ]  # fmt: skip
    for row, skip in product(rows, (True, False)):
        agree(pair, lambda t, r=row, s=skip: t.decode(r, skip_special_tokens=s))
        agree(pair, lambda t, r=row, s=skip: t.decode_batch([r, [3]], skip_special_tokens=s))


@pytest.mark.parametrize(
    "action",
    [
        lambda t: t.token_to_id("hello"),
        lambda t: t.token_to_id("nothing"),
        lambda t: t.id_to_token(259),
        lambda t: t.id_to_token(9999),
        lambda t: t.get_vocab(),
        lambda t: t.get_vocab(with_added_tokens=False),
        lambda t: t.get_vocab_size(),
        lambda t: t.get_vocab_size(with_added_tokens=False),
        lambda t: {i: str(token) for i, token in t.get_added_tokens_decoder().items()},
        lambda t: t.num_special_tokens_to_add(is_pair=True),
        lambda t: t.num_special_tokens_to_add(is_pair=False),
        lambda t: json.loads(t.to_str()),
        lambda t: (set_options(t, {"max_length": 4}, {"length": 6}), json.loads(t.to_str())),
        lambda t: t.no_such_thing,
        lambda t: asyncio.run(_asked(t)),
        lambda t: t.encode_batch_fast(TEXTS)[2].ids,
    ],
)
def test_other_calls(action: Callable[[Any], Any]) -> None:
    agree(both(definition()), action)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.add_tokens(["hello world", AddedToken("xy", single_word=True)]),
        lambda t: t.add_special_tokens(["<x>", "hello"]),
        lambda t: setattr(t, "normalizer", normalizers.Lowercase()),
        lambda t: setattr(t, "post_processor", None),
        lambda t: setattr(t, "post_processor", processors.ByteLevel()),
        lambda t: setattr(t.pre_tokenizer, "add_prefix_space", True),
        lambda t: setattr(t.model, "ignore_merges", True),
        lambda t: setattr(t, "encode_special_tokens", True),
    ],
)
def test_the_engine_follows_a_change(change: Callable[[Any], Any]) -> None:
    pair = both(definition())
    texts = [*TEXTS, "xy HELLO hello world<x> hello"]
    agree(pair, lambda t: t.encode(texts[-1], "hello").ids)
    agree(pair, change)
    agree(pair, lambda t: [view(e) for e in t.encode_batch(texts)])
    agree(pair, lambda t: t.decode([265, 269, 270, 259]))


def test_an_encoding_keeps_the_state_it_was_made_in() -> None:
    pair = both(definition())
    made = [t.encode("hello world wide", "hello") for t in pair]
    for tokenizer in pair:
        tokenizer.add_tokens(["hello world"])
        tokenizer.enable_truncation(2)
    assert view(made[1]) == view(made[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.pad(30, direction="left", pad_id=7, pad_type_id=2, pad_token="Q"),  # noqa: S106
        lambda e: e.truncate(3, stride=1),
        lambda e: e.truncate(4, direction="left"),
        lambda e: e.no_such_thing,
    ],
)
def test_encodings_change_in_place(change: Callable[[Any], Any]) -> None:
    made = [t.encode("hello world wide", "hello") for t in both(definition())]
    agree((made[0], made[1]), change)
    assert view(made[1]) == view(made[0])


def test_encodings_are_numbered() -> None:
    # With a number before, the library answers by the order of a hash table.
    made = [t.encode("hello world") for t in both(definition("none"))]
    for encoding in made:
        encoding.set_sequence_id(1)
    assert view(made[1]) == view(made[0])


def test_encodings_are_joined_and_pickled() -> None:
    made: Any = [t.encode_batch(["hello world", "wide"]) for t in both(definition())]
    joined: Any = tokenizers.Encoding.merge(made[0], True), Encoding.merge(made[1], True)
    assert view(joined[1]) == view(joined[0])
    assert view(pickle.loads(pickle.dumps(made[1][0]))) == view(made[0][0])  # noqa: S301
    assert view(Encoding()) == view(tokenizers.Encoding())


@pytest.mark.parametrize("again", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])  # noqa: S301
def test_copies_are_alike_and_apart(again: Callable[[Any], Any]) -> None:
    tokenizer = both(definition())[1]
    tokenizer.enable_padding(length=9)
    tokenizer.encode_special_tokens = True
    twin = again(tokenizer)
    tokenizer.no_padding()
    assert len(twin.encode("<s>")) == 9
    assert twin.encode_special_tokens


def test_files(tmp_path: Path) -> None:
    made = definition()
    made["truncation"] = {
        "direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0,
    }  # fmt: skip
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(made))
    peer = tokenizers.Tokenizer.from_file(str(path))
    for mine in (
        Tokenizer.from_file(path),
        Tokenizer.from_pretrained(str(tmp_path)),
        Tokenizer.from_buffer(path.read_bytes()),
        Tokenizer(tokenizers.Tokenizer.from_file(str(path))),
    ):
        assert view(mine.encode(TEXTS[3])) == view(peer.encode(TEXTS[3]))
        mine.save(str(tmp_path / "again.json"))
        peer.save(str(tmp_path / "expected.json"))
        assert (tmp_path / "again.json").read_text() == (tmp_path / "expected.json").read_text()


def test_what_has_no_native_form_runs_through_the_library() -> None:
    made = word_level()
    made["normalizer"] = {"type": "Replace", "pattern": {"Regex": "(?=o)"}, "content": "x"}
    pair = both(made)
    with pytest.warns(ReferencePathWarning):
        assert not pair[1].is_native
    agree(pair, lambda t: [view(e) for e in t.encode_batch(TEXTS)])
    agree(pair, lambda t: t.decode([1, 4, 5, 2]))


def test_the_library_is_loaded_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(definition()))
    tokenizer = Tokenizer.from_file(path)
    tokenizer.enable_padding(length=4)
    encoding = tokenizer.encode("hello world")
    assert (encoding.ids, encoding.attention_mask) == ([265, 259, 264, 266], [1, 1, 1, 1])
    assert tokenizer._backend._peer is None
    assert encoding.offsets == [(0, 0), (0, 5), (5, 11), (0, 0)]
    assert (encoding.word_ids, encoding.char_to_token(7)) == ([None, 0, 1, None], 2)
    assert tokenizer._backend._peer is None
    assert encoding.tokens == ["<s>", "hello", "\u0120world", "</s>"]
    assert tokenizer._backend._peer is not None


async def _asked(tokenizer: Any) -> Any:
    one = await tokenizer.async_encode("hello")
    many = await tokenizer.async_encode_batch(["hello", "world"])
    fast = await tokenizer.async_encode_batch_fast(["hello"])
    texts = await tokenizer.async_decode_batch([[104, 265], [259]])
    return one.ids, [e.ids for e in many], [e.ids for e in fast], texts


def _hostile_pair() -> tuple[Any, Tokenizer]:
    if not hasattr(_hostile_pair, "made"):
        _hostile_pair.made = both(definition())  # type: ignore[attr-defined]
    made: tuple[Any, Tokenizer] = _hostile_pair.made  # type: ignore[attr-defined]
    return made
