"""Truncation that stops encoding: the same rows as if all of each text had been encoded."""

from __future__ import annotations

import random
from typing import Any, Literal

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models import on_target
from tests.offsets.tokenizers_of_every_kind import KINDS, texts
from tests.vocabularies import NAMES, payload

from tokenmill import InvalidUtf8, SpecialTokenInText, Tokenizer, _core
from tokenmill._model.ready import from_payload
from tokenmill._post import enough, may_stop
from tokenmill.compat import hf

WORDS = [
    "hello", "world", "The", "dog\u00e9", "caf\u00e9", "don't", "12", "x", "\u4e2d\u6587", "Word",
    "<s>", "I", "I'll", "a\u0301", "B",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make short texts long enough to be cut."""
    monkeypatch.setattr(enough, "_SHORTEST", 0)
    monkeypatch.setattr(enough, "_PER_TOKEN", 1)
    monkeypatch.setattr(enough, "_GROWTH", 2)


def nasty(seed: int, count: int) -> list[str]:
    """Words with blanks between them, and pieces that are hard on normalizers and splits."""
    choose = random.Random(seed)  # noqa: S311
    pieces = texts(seed, 60)
    blanks = [" ", " ", " ", "  ", "\n", "\u00a0", "", "\u2581"]
    return [
        "".join(
            choose.choice(WORDS if choose.random() < 0.7 else pieces) + choose.choice(blanks)
            for _ in range(choose.randrange(1, 30))
        )
        for _ in range(count)
    ]


def check_every_cut(model: Any, sample: list[str]) -> int:
    """Cut each text wherever it may be cut; return how often that was."""
    cuts = 0
    for text in sample:
        for form in (text, text.encode()):
            whole = model.encode(form, False, 0, 0).tolist()
            ends = {model.prefix_end(form, start) for start in range(len(form))}
            for end in ends - {len(form)}:
                front = model.encode(form[:end], False, 0, 0).tolist()
                assert front == whole[: len(front)], (form[:end], form[end:])
                cuts += 1
    return cuts


@pytest.mark.parametrize("target", _core.targets())
@pytest.mark.parametrize("name", NAMES)
def test_the_front_of_a_text_keeps_its_ids(name: str, target: str) -> None:
    with on_target(target):
        model = _core.Model(payload(name))
    cuts = check_every_cut(model, nasty(len(name), 60))
    assert cuts > 100 or name == "deepseek"  # no known rule: encoded to the end


@pytest.mark.parametrize("name", KINDS)
def test_the_front_keeps_its_ids_for_every_kind(name: str) -> None:
    tokenizer = Tokenizer.load(KINDS[name]())
    ready = tokenizer.ready
    if isinstance(ready.model, _core.Model) and may_stop(ready.meta["added_tokens"]):
        check_every_cut(ready.model, nasty(len(name), 40))


@pytest.mark.parametrize("name", KINDS)
def test_truncated_rows_are_those_of_the_whole_text(name: str) -> None:
    tokenizer = Tokenizer.load(KINDS[name]())
    choose = random.Random(name)  # noqa: S311
    sample = nasty(3, 50)
    for most in (0, 1, 3, 9, 40):
        mode: Literal["encode", "text"] = choose.choice(["encode", "text"])
        whole = tokenizer.encode_batch(sample, special_in_text=mode).tolist()
        rows = tokenizer.encode_batch(
            sample, truncation="longest_first", max_length=most, special_in_text=mode
        )
        assert rows.tolist() == [row[:most] for row in whole]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([*WORDS, "  ", "\n", "\u0301", "\ufeff"]), max_size=60),
    st.integers(0, 12),
)
def test_any_text_of_words(words: list[str], most: int) -> None:
    for name in ("gpt2", "o200k"):
        tokenizer = _loaded(name)
        text = " ".join(words)
        got = tokenizer.encode(text, truncation="only_first" if most else "longest_first",
                               max_length=most)  # fmt: skip
        assert got.tolist() == tokenizer.encode(text).tolist()[:most]


def test_errors_after_the_cut_are_found() -> None:
    tokenizer = _loaded("gpt2")
    front = "hello world " * 50
    cut: dict[str, Any] = {"truncation": "longest_first", "max_length": 4}
    for bad in (front.encode() + b"\xff end", front + "\ud800"):
        with pytest.raises(InvalidUtf8):
            tokenizer.encode(bad, **cut)
        assert tokenizer.encode(bad, errors="replace", **cut).tolist() == (
            tokenizer.encode(front, **cut).tolist()
        )
    with pytest.raises(SpecialTokenInText):
        tokenizer.encode(front + "<|endoftext|>", special_in_text="raise", **cut)


def test_little_of_a_long_text_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    tokenizer = _loaded("gpt2")
    model = _Counting(tokenizer.ready.model)
    text = "hello world " * 100_000
    side = enough.encode_enough(model, [text, "short"], 33, special_mode=0, errors=0)
    assert len(side.offsets) == 3
    assert side.ids[:33].tolist() == tokenizer.encode(text)[:33].tolist()
    assert 0 < max(model.seen) < 5000


def test_added_tokens_that_could_lie_across_a_cut() -> None:
    assert may_stop(["<s>", "  ", "\n\n", "<|im start|>"[:4], "\u2581\u2581"])
    assert not may_stop(["<s>", "of the"])
    assert not may_stop(["of\u2581the"])
    library = KINDS["bytes"]()
    library.add_tokens([tokenizers.AddedToken("hello world", normalized=False)])
    tokenizer, text = Tokenizer.load(library), "hello world hello world hello world the dog"
    whole = tokenizer.encode(text).tolist()
    for most in range(len(whole)):
        got = tokenizer.encode(text, truncation="longest_first", max_length=most)
        assert got.tolist() == whole[:most]


def test_the_drop_in_stops_too() -> None:
    theirs = KINDS["bytes"]()
    ours = hf.Tokenizer(theirs)
    sample = nasty(5, 30)
    for most in (2, 7, 30):
        for one in (theirs, ours):
            one.enable_truncation(most)
        expected = theirs.encode_batch(sample)
        got = ours.encode_batch(sample)
        assert [one.ids for one in got] == [one.ids for one in expected]
        assert [one.offsets for one in got] == [one.offsets for one in expected]
        assert [len(one.overflowing) for one in got] == [len(one.overflowing) for one in expected]
        assert [ours.encode(text).ids for text in sample] == [one.ids for one in expected]


class _Counting:
    """A model that notes how much text it encodes."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.seen: list[int] = []

    def encode_batch(self, given: list[str], **options: Any) -> Any:
        self.seen += map(len, given)
        return self._model.encode_batch(given, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def _loaded(name: str) -> Tokenizer:
    return Tokenizer(from_payload(payload(name)))
