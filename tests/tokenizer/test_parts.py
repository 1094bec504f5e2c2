"""`encode_parts`: text that is trusted in parts, against the slow reference, for all models."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from tests.reference.trusted import TrustedEncoder
from tokenizers import decoders, models, normalizers, pre_tokenizers

from tokenmill import OptionError, TextTypeError, Tokenizer
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reference.trusted import Parts

TEXT = "<s> </s> ab abc im_end think |> x b < hello world the then there CDE"
# Some overlap, some hold others, some are not special.
SPECIAL = ("<s>", "</s>", "<|im_end|>", "<s>x", "b<")
OTHER = ("<think>", "  ", "   ", "x  ")
PIECES = (
    "<s>", "</s>", "<|im_end|>", "<|im_", "end|>", "<", "s>", "</", "x", "b", "ab", "<think>",
    "thi", "nk>", " ", "  ", "hello", "world", "the", "<S>", "<s", ">", "\u00e9", "\u4e2d", "",
)  # fmt: skip


def characters() -> list[str]:
    return sorted({*TEXT, *"".join(PIECES), "\u2581"})


def byte_bpe() -> tokenizers.Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("<", "s"), ("<s", ">"), ("a", "b"), ("l", "l")]
    vocab = {token: i for i, token in enumerate([*alphabet, *map("".join, merges)])}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def sentencepiece_bpe() -> tokenizers.Tokenizer:
    merges = [("t", "h"), ("th", "e"), ("<", "/"), ("a", "b"), ("\u2581", "x")]
    tokens = ["<unk>", *(f"<0x{i:02X}>" for i in range(256)), *characters()]
    vocab = {token: i for i, token in enumerate([*tokens, *map("".join, merges)])}
    tokenizer = tokenizers.Tokenizer(
        models.BPE(vocab, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)  # noqa: S106
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    return tokenizer


def wordpiece() -> tokenizers.Tokenizer:
    pieces = [*characters(), *(f"##{c}" for c in characters()), "the", "hello", "##ld"]
    vocab = {token: i for i, token in enumerate(["[UNK]", *pieces])}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def unigram() -> tokenizers.Tokenizer:
    """The vocabulary holds control tokens as words, as many genuine ones do."""
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("<|im_end|>", 0.0), ("\u2581the", -2.0)]
    pieces += [(c, -5.0 - i / 9) for i, c in enumerate(characters())]
    tokenizer = tokenizers.Tokenizer(models.Unigram(pieces, 0, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


KINDS: dict[str, Callable[[], tokenizers.Tokenizer]] = {
    "byte_bpe": byte_bpe,
    "sentencepiece_bpe": sentencepiece_bpe,
    "wordpiece": wordpiece,
    "unigram": unigram,
}


@cache
def loaded(kind: str, normalized: bool = False) -> tuple[Tokenizer, Any]:
    """The tokenizer and its spec; `normalized` tokens are looked for in normalized text."""
    tokenizer = KINDS[kind]()
    for names, special in ((SPECIAL, True), (OTHER, False)):
        added = [tokenizers.AddedToken(n, normalized=normalized, special=special) for n in names]
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
    return Tokenizer.load(tokenizer), load_source(tokenizer)


def random_parts(seed: int) -> Parts:
    rng = random.Random(seed)  # noqa: S311
    pieces = [rng.choice(PIECES) for _ in range(rng.randint(0, 12))]
    text, parts, at = "".join(pieces), [], 0
    while at < len(text):
        size = rng.choice((1, 2, 3, 5, 8, 13))
        parts.append((text[at : at + size], rng.random() < 0.5))
        at += size
    return parts


def joined(parts: Parts) -> str:
    return "".join(text for text, _ in parts)


WAYS = [(kind, normalized) for kind in KINDS for normalized in (False, True)]


def is_supported(kind: str, normalized: bool) -> bool:
    # A text put in front of every range makes normalized tokens depend on more than characters.
    return not (normalized and kind == "sentencepiece_bpe")


@pytest.mark.parametrize(("kind", "normalized"), [w for w in WAYS if is_supported(*w)])
def test_parts_have_the_ids_of_the_reference(kind: str, normalized: bool) -> None:
    tokenizer, spec = loaded(kind, normalized)
    for control in ((), ("<think>", "  ")):
        reference = TrustedEncoder(spec, control)
        for seed in range(600):
            parts = random_parts(seed)
            got = tokenizer.encode_parts(parts, control=control).tolist()
            assert got == reference.encode(parts), (parts, control)


@pytest.mark.parametrize(("kind", "normalized"), WAYS)
def test_trusted_text_has_the_ids_of_encode(kind: str, normalized: bool) -> None:
    tokenizer, _ = loaded(kind, normalized)
    for seed in range(300):
        parts = [(text, True) for text, _ in random_parts(seed)]
        expected = tokenizer.encode(joined(parts), add_special_tokens=True)
        got = tokenizer.encode_parts(parts, add_special_tokens=True)
        assert got.tolist() == expected.tolist(), parts


@pytest.mark.parametrize(("kind", "normalized"), WAYS)
def test_text_without_control_tokens_has_the_ids_of_encode(kind: str, normalized: bool) -> None:
    tokenizer, _ = loaded(kind, normalized)
    special = set(tokenizer.special_tokens.values())
    checked = 0
    for seed in range(600):
        parts = random_parts(seed)
        expected = tokenizer.encode(joined(parts))
        if special.isdisjoint(expected.tolist()):
            checked += 1
            assert tokenizer.encode_parts(parts).tolist() == expected.tolist(), parts
    assert checked > 50


@pytest.mark.parametrize(("kind", "normalized"), WAYS)
def test_text_of_others_never_becomes_a_control_token(kind: str, normalized: bool) -> None:
    tokenizer, _ = loaded(kind, normalized)
    special = set(tokenizer.special_tokens.values())
    for seed in range(600):
        parts = [(text, False) for text, _ in random_parts(seed)]
        ids = tokenizer.encode_parts(parts).tolist()
        assert special.isdisjoint(ids), parts
        as_text = tokenizer.encode(joined(parts), special_in_text="text").tolist()
        if special.isdisjoint(as_text):
            assert ids == as_text, parts


def test_a_model_that_makes_control_tokens_of_text_loses_those_words() -> None:
    tokenizer, _ = loaded("unigram")
    end = tokenizer.special_tokens["</s>"]
    assert end in tokenizer.encode("x </s> x", special_in_text="text").tolist()
    ids = tokenizer.encode_parts([("x ", True), ("</s>", False), (" x</s>", True)]).tolist()
    assert ids.count(end) == 1
    assert ids[-1] == end


def test_a_normalizer_does_not_make_control_tokens() -> None:
    """Text of others that becomes the token only when it is normalized, or by a mark after it."""
    tokenizer = KINDS["byte_bpe"]()
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.add_special_tokens(
        [tokenizers.AddedToken(name, normalized=True) for name in ("<s>", "<\u00e9", "<\u00e9>")]
    )
    ours = Tokenizer.load(tokenizer)
    special = set(ours.special_tokens.values())
    assert not special.isdisjoint(ours.encode("\uff1cs\uff1e").tolist())
    hostile: list[Parts] = [
        [("\uff1cs\uff1e", False)],
        [("<", True), ("s", False), (">", True)],
        [("<e", True), ("\u0301", False)],
        [("<e", True), ("\u0301", False), (">", True)],
    ]
    for parts in hostile:
        assert special.isdisjoint(ours.encode_parts(parts).tolist()), parts
        trusted = [(text, True) for text, _ in parts]
        assert ours.encode_parts(trusted).tolist() == ours.encode(joined(parts)).tolist()


def test_text_of_others_does_not_hide_control_tokens() -> None:
    """A longer token, or one that begins earlier, must not swallow one of trusted text."""
    tokenizer, _ = loaded("byte_bpe")
    special = tokenizer.special_tokens
    assert tokenizer.encode_parts([("<s>", True), ("x", False)])[0] == special["<s>"]
    assert tokenizer.encode_parts([("b", False), ("<s>", True)])[-1] == special["<s>"]


def test_long_text_is_shared_between_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, _ = loaded("byte_bpe")
    monkeypatch.setenv("TOKENMILL_THREADS", "2")
    part = "hello </s> the world " * 30_000
    ids = tokenizer.encode_parts([(part, False), ("</s>", True), (part, False)]).tolist()
    expected = tokenizer.encode(part, special_in_text="text").tolist()
    assert ids == [*expected, tokenizer.special_tokens["</s>"], *expected]


def test_parts_are_checked_one_by_one() -> None:
    tokenizer, _ = loaded("byte_bpe")
    half = "\u4e2d".encode()
    with pytest.raises(Exception, match="UTF-8") as caught:
        tokenizer.encode_parts([(half, True), (half[:1], False)])
    assert getattr(caught.value, "document", None) == 1
    replaced = tokenizer.encode_parts([(half[:1], True), (half[1:], False)], errors="replace")
    assert tokenizer.decode(replaced) == "\ufffd\ufffd\ufffd"
    mixed: Any = [("a", True), (b"b", False), (bytearray("\u4e2d".encode()), True), ("\xe9", False)]
    assert tokenizer.decode(tokenizer.encode_parts(mixed)) == "ab\u4e2d\xe9"


@pytest.mark.parametrize("parts", [["ab"], [("a", "no")], [("a", 1)], [("a", True, 1)], [3]])
def test_parts_of_another_shape_are_refused(parts: Any) -> None:
    tokenizer, _ = loaded("byte_bpe")
    with pytest.raises(TextTypeError, match="pairs"):
        tokenizer.encode_parts(parts)


def test_unknown_control_tokens_are_refused() -> None:
    tokenizer, _ = loaded("byte_bpe")
    with pytest.raises(OptionError, match="the"):
        tokenizer.encode_parts([("a", True)], control=["the"])


def test_no_parts_have_no_ids() -> None:
    tokenizer, _ = loaded("byte_bpe")
    assert tokenizer.encode_parts([]).tolist() == []
    assert tokenizer.encode_parts([("", True), ("", False)]).tolist() == []
    assert json.dumps(tokenizer.encode_parts(iter([("<s>", True)])).tolist()) != "[]"
