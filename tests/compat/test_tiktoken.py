"""`tokenmill.compat.tiktoken` against `tiktoken`: results and kinds of errors."""

from __future__ import annotations

import pickle
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.outcome import outcome

import tokenmill
import tokenmill.compat.tiktoken as ours
from tokenmill.compat.tiktoken import _encoding

PATTERN = r"'s| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
MERGED = ["he", "ll", "hell", "hello", " w", " wo", "rl", "rld", "ld", " world"]
RANKS = {bytes([b]): b for b in range(256)} | {m.encode(): 256 + i for i, m in enumerate(MERGED)}
SPECIAL = {"<|endoftext|>": 300, "<|a|>": 301, "<|b|>": 310}  # with holes between
PARTS: dict[str, Any] = {
    "name": "small", "pat_str": PATTERN, "mergeable_ranks": RANKS, "special_tokens": SPECIAL,
}  # fmt: skip
PEER = tiktoken.Encoding(**PARTS)
TEXTS: list[Any] = [
    "", "hello world", "<|a|> hello <|b|>x<|endoftext|>", "a\ud800b", "\ud83d\ude00",
    "<|a|>\ud800", "e\u0301\u200d\ufeff\x00\ufffd", b"x", 3, None, ["a"],
]  # fmt: skip
ALLOWED = ["all", set(), {"<|a|>"}, {"<|a|>", "other"}, ["<|a|>"], frozenset({"<|b|>"}), None]
DISALLOWED = ["all", (), {"<|a|>"}, ["<|b|>"], {"hello"}, "", None]
ROWS: list[Any] = [
    [], [1, 2, 300], [305], [-1], [2**40], ["a"], [1.5], (256, 257), [300, 311], [np.int64(5)],
    [True], "ab", 5, None, [0xE2, 0x82, 0xAC], [0xE2], [260, 0x82],
]  # fmt: skip


@pytest.fixture(scope="module")
def encoding() -> ours.Encoding:
    return ours.Encoding(**PARTS)


def compare(encoding: ours.Encoding, action: Any) -> None:
    expected, got = outcome(lambda: action(PEER)), outcome(lambda: action(encoding))
    if isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype
        expected, got = expected.tolist(), got.tolist()
    assert got == expected


@pytest.mark.parametrize("method", ["encode", "encode_to_numpy", "encode_with_unstable"])
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_special_tokens_count_where_allowed_and_raise_where_disallowed(
    encoding: ours.Encoding, method: str, text: object
) -> None:
    for allowed, disallowed in product(ALLOWED, DISALLOWED):
        options = {"allowed_special": allowed, "disallowed_special": disallowed}
        compare(encoding, lambda e, o=options: getattr(e, method)(text, **o))


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_batches(encoding: ours.Encoding, text: object) -> None:
    compare(encoding, lambda e: e.encode_ordinary(text))
    compare(encoding, lambda e: e.encode_ordinary_batch([text, "x"]))
    compare(encoding, lambda e: e.encode_single_token(text))
    for allowed, disallowed in product(ALLOWED, DISALLOWED):
        options = {"allowed_special": allowed, "disallowed_special": disallowed}
        compare(encoding, lambda e, o=options: e.encode_batch([text, "hello"], **o))


@given(st.text(st.sampled_from("helo wrd<|a>b\ud800\udc00\u0301\U0001f600\n\x00"), max_size=40))
def test_hostile_texts(text: str) -> None:
    encoding = _made()
    for allowed in ("all", {"<|a|>"}, set()):
        options: Any = {"allowed_special": allowed, "disallowed_special": ()}
        assert encoding.encode(text, **options) == PEER.encode(text, **options)


@pytest.mark.parametrize("ids", ROWS, ids=ascii)
def test_decoding(encoding: ours.Encoding, ids: object) -> None:
    for method in (
        "decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets",
        "decode_single_token_bytes", "is_special_token",
    ):  # fmt: skip
        compare(encoding, lambda e, m=method: getattr(e, m)(ids))
    for method in ("decode_batch", "decode_bytes_batch"):
        compare(encoding, lambda e, m=method: getattr(e, m)([ids, [1]]))


def test_every_id(encoding: ours.Encoding) -> None:
    for token_id in range(-2, 320):
        compare(encoding, lambda e, i=token_id: e.decode_single_token_bytes(i))
        compare(encoding, lambda e, i=token_id: e.is_special_token(i))


@pytest.mark.parametrize(
    "name", ["eot_token", "special_tokens_set", "n_vocab", "max_token_value", "name"]
)
def test_properties(encoding: ours.Encoding, name: str) -> None:
    compare(encoding, lambda e: getattr(e, name))
    compare(encoding, repr)
    compare(encoding, lambda e: e.token_byte_values())


def test_pickling_by_parts(encoding: ours.Encoding) -> None:
    again = pickle.loads(pickle.dumps(encoding))  # noqa: S301
    assert again.encode("hello world") == encoding.encode("hello world")


def test_a_wrong_size_is_refused() -> None:
    with pytest.raises(AssertionError, match="explicit_n_vocab"):
        ours.Encoding(**PARTS, explicit_n_vocab=5)


def test_special_tokens_of_which_one_begins_like_another_are_the_peers() -> None:
    parts = {**PARTS, "special_tokens": {"<|a|>": 301, "<|a|>b": 302, "<|c|>": 303}}
    peer = tiktoken.Encoding(**parts)
    with pytest.warns(tokenmill.ReferencePathWarning, match="is the beginning of"):
        mine = ours.Encoding(**parts)
    for allowed in ("all", {"<|a|>"}, {"<|a|>b", "<|c|>"}):
        options: Any = {"allowed_special": allowed, "disallowed_special": ()}
        text = "x<|a|>b<|c|> <|a|>"
        assert mine.encode(text, **options) == peer.encode(text, **options)
        assert mine.encode_batch([text], **options) == peer.encode_batch([text], **options)


def test_names_are_looked_up_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiktoken, "get_encoding", {"small": PEER}.__getitem__)
    monkeypatch.setattr(_encoding, "registry", {})
    found = ours.get_encoding("small")
    assert found is ours.get_encoding("small")
    assert found.encode("hello world") == PEER.encode("hello world")
    assert pickle.loads(pickle.dumps(found)).__dict__ is found.__dict__  # noqa: S301
    with pytest.raises(ValueError, match="expected a string, got int"):
        ours.get_encoding(5)  # type: ignore[arg-type]


def test_models_have_the_encodings_that_they_have() -> None:
    for model in ("gpt-4o", "gpt-4", "gpt2", "text-davinci-003", "gpt-4o-2024-05-13"):
        assert ours.encoding_name_for_model(model) == tiktoken.encoding_name_for_model(model)
    with pytest.raises(KeyError):
        ours.encoding_for_model("no such model")
    assert ours.list_encoding_names() == tiktoken.list_encoding_names()


def test_without_tiktoken_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    monkeypatch.setattr(_encoding, "registry", {})
    with pytest.raises(tokenmill.MissingDependency, match="pip install tiktoken"):
        ours.get_encoding("cl100k_base")
    assert ours.Encoding(**PARTS).encode("hello") == [259]


def _made() -> ours.Encoding:
    if not hasattr(_made, "encoding"):
        _made.encoding = ours.Encoding(**PARTS)  # type: ignore[attr-defined]
    made: ours.Encoding = _made.encoding  # type: ignore[attr-defined]
    return made


@given(st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode)))
def test_bytes_that_may_not_be_utf8(data: bytes) -> None:
    made = _made()
    assert made._encode_bytes(data) == PEER._encode_bytes(data)
    assert made.decode_bytes(made._encode_bytes(data)) == data


@pytest.mark.parametrize(
    "data",
    [b"", b" \xec\x8b\xa4\xed", b"hello \xff\xfe", b"\n \n\xe2", b"\xe2\x82", b"<|a|>\xf0\x9f",
     bytearray(b"a"), memoryview(b"a"), "text", 5, None],
    ids=ascii,
)  # fmt: skip
def test_bytes_that_are_hard(encoding: ours.Encoding, data: Any) -> None:
    compare(encoding, lambda e: e._encode_bytes(data))


@pytest.mark.parametrize("text", ["", "hello world", b"hello\xff", "hello  hello", 5], ids=ascii)
def test_private_methods_that_others_call(encoding: ours.Encoding, text: Any) -> None:
    compare(encoding, lambda e: e._encode_single_piece(text))
    compare(encoding, lambda e: e._encode_only_native_bpe(text))


def test_no_method_of_the_library_is_missing() -> None:
    assert set(dir(tiktoken.Encoding)) <= set(dir(ours.Encoding))
