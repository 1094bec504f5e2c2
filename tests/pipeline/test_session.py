"""After every change of a session its ids are those of the whole text, for every kind of model."""

from __future__ import annotations

import json
import random
import threading
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import small_definition
from tests.load.sentencepiece_models import random_model, random_text
from tests.offsets.tokenizers_of_every_kind import KINDS
from tests.pipeline.growing import BLANKS, WORDS, Grown, grow_at_random
from tests.strategies import TEXTS, hostile_texts

from tokenmill import (
    DeadlineExceeded,
    InvalidUtf8,
    OptionError,
    SpecialTokenInText,
    TextTooLong,
    Tokenizer,
    _core,
)

if TYPE_CHECKING:
    from pathlib import Path

BYTES = ["a\u00e9\u4e2d\U0001f600 b", "\u4e2d\u6587 \U0001f468\u200d\U0001f469 x", "e\u0301 \uac00"]
BROKEN = [b"\xff a", b"a\xe0\x80b", b"\xed\xa0\x80 x", b"\xf4\x90\x80\x80", b"\xc3", b"\xe4\xb8"]
# Each with: takes white space on its left, on its right, stands alone, is normalized.
TOKENS = [
    ("<|im_start|>", False, False, False, False),
    ("<|im_end|>", False, False, False, True),
    ("<left>", True, False, False, False),
    ("<right>", False, True, False, False),
    ("<both>", True, True, False, True),
    ("word", False, False, True, False),
    ("ending", False, True, False, True),
    ("two words", False, False, False, False),
    (" x", False, False, False, False),
    ("  ", False, False, False, False),
    ("\n\n", False, False, False, False),
    ("\u4e2d", False, False, False, False),
]
REPLACE = {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}
NORMALIZERS: dict[str, Any] = {
    "none": None,
    "NFC": {"type": "NFC"},
    "lowercase": {"type": "Lowercase"},
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "literal": {"type": "Sequence", "normalizers": [REPLACE, {"type": "Lowercase"}]},
    "in front": {"type": "Prepend", "prepend": "x"},
}


MODELS = list(product(NORMALIZERS, [False, True]))


@cache
def hostile_tokenizer(normalizer: str, prefix: bool) -> Tokenizer:
    """The small tokenizer with added tokens that take blanks, need borders and hold blanks."""
    definition = small_definition()
    first = 1 + max(token["id"] for token in definition["added_tokens"])
    for i, (content, left, right, single, normalized) in enumerate(TOKENS):
        definition["added_tokens"].append({
            "id": first + i, "content": content, "lstrip": left, "rstrip": right,
            "single_word": single, "normalized": normalized, "special": not normalized,
        })  # fmt: skip
    definition["normalizer"] = NORMALIZERS[normalizer]
    definition["pre_tokenizer"]["add_prefix_space"] = prefix
    return Tokenizer.load(json_object(definition))


def json_object(definition: dict[str, Any]) -> Any:
    import tokenizers

    return tokenizers.Tokenizer.from_str(json.dumps(definition))


@pytest.mark.parametrize("kind", KINDS)
def test_every_change_gives_the_ids_of_the_whole_text(kind: str) -> None:
    tokenizer = Tokenizer.load(KINDS[kind]())
    model = tokenizer.ready.model
    assert tokenizer.session().incremental
    grow_at_random(model, list(tokenizer.ready.meta["added_tokens"]), 12, seed=3)


@pytest.mark.parametrize(("normalizer", "prefix"), MODELS)
def test_added_tokens_of_every_kind_may_come_in_parts(normalizer: str, prefix: bool) -> None:
    tokenizer = hostile_tokenizer(normalizer, prefix)
    model = tokenizer.ready.model
    assert isinstance(model, _core.Model)
    grow_at_random(model, [content for content, *_ in TOKENS], 12, seed=5)


@pytest.mark.parametrize("token", [content for content, *_ in TOKENS])
def test_an_added_token_cut_at_any_two_places_is_found(token: str) -> None:
    tokenizer = hostile_tokenizer("none", False)
    for before, after in product(["", "a", "a b ", "a b\n "], ["", " c d", "x", "  y z"]):
        text = before + token + after
        for first, second in combinations(range(len(text) + 1), 2):
            grown = Grown(tokenizer.ready.model)
            for part in (text[:first], text[first:second], text[second:]):
                grown.append(part)


PARTS = st.lists(
    st.one_of(
        st.sampled_from([*BLANKS, *WORDS, *(content for content, *_ in TOKENS)]),
        TEXTS.filter(lambda text: len(text) < 20),
    ),
    max_size=30,
)


@given(PARTS, st.sampled_from(MODELS), st.data())
@settings(max_examples=150)
def test_any_text_in_any_parts(
    parts: list[str], which: tuple[str, bool], data: st.DataObject
) -> None:
    grown = Grown(hostile_tokenizer(*which).ready.model, data.draw(st.booleans()))
    for part in parts:
        cut = data.draw(st.integers(0, len(part)))
        grown.append(part[:cut])
        grown.append(part[cut:])
    if grown.text:
        grown.replace_tail(data.draw(st.integers(0, len(grown.text))), "end <left>")


@pytest.mark.parametrize("kind", ["one letter", "spaces", "marks", "random han", "mixed newlines"])
def test_long_texts_without_a_cut_stay_exact(small: Tokenizer, kind: str) -> None:
    text = hostile_texts(100_000)[kind]
    session = small.session()
    session.append(text)
    session.append("a")
    session.append(" b")
    assert session.ids.tolist() == small.encode(text + "a b").tolist()


def test_an_added_token_may_be_as_long_as_a_file(tmp_path: Path) -> None:
    definition = small_definition()
    flags = {"special": True, "normalized": False, "lstrip": False, "rstrip": False}
    token = "<" + "long" * 200_000 + ">"
    definition["added_tokens"].append({"id": 300, "content": token, "single_word": False, **flags})
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(definition))
    tokenizer = Tokenizer.load(path)
    session = tokenizer.session()
    for part in ("a b ", token[:7], token[7:-1], "> c"):
        session.append(part)
    assert session.ids.tolist() == tokenizer.encode(f"a b {token} c").tolist()


@pytest.mark.parametrize("text", BYTES)
@pytest.mark.parametrize("errors", [0, 1])
def test_bytes_may_end_inside_a_character(small: Tokenizer, text: str, errors: int) -> None:
    model: Any = small.ready.model
    data = text.encode()
    for size in (1, 2, 3):
        session = _core.Session(model, errors=errors, small_steps=True)
        ids: list[int] = []
        for begin in range(0, len(data), size):
            keep, new = session.append(data[begin : begin + size])
            ids = ids[:keep] + new.tolist()
            so_far = data[: begin + size]
            shown = so_far.decode(errors="replace" if errors else "ignore")
            assert ids == model.encode(shown).tolist()
            assert session.text_bytes == so_far
            assert session.n_pending == len(so_far) - len(so_far.decode(errors="ignore").encode())
        assert ids == model.encode(data).tolist()


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_bytes_are_replaced_as_decode_replaces_them(small: Tokenizer, broken: bytes) -> None:
    model: Any = small.ready.model
    data = b"abc " + broken + b" d" + broken + broken
    for cuts in combinations(range(len(data) + 1), 2):
        session = _core.Session(model, errors=1, small_steps=True)
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            session.append(data[begin:end])
            whole = data[:end].decode(errors="replace")
            assert session.ids.tolist() == model.encode(whole).tolist()


def test_a_broken_byte_is_refused_where_it_is(small: Tokenizer) -> None:
    session = small.session()
    session.append(b"ab\xe4\xb8")
    with pytest.raises(InvalidUtf8):
        session.append("x")  # the character is not finished
    with pytest.raises(InvalidUtf8) as caught:
        session.append(b"\xadcd\xff")
    assert caught.value.offset == 3
    with pytest.raises(InvalidUtf8):
        session.append("\ud800")
    assert session.text_bytes == b"ab\xe4\xb8"
    session.append(b"\xad")
    assert session.ids.tolist() == small.encode("ab\u4e2d").tolist()


def test_halves_of_a_surrogate_pair_stay_apart_as_in_the_whole_string(small: Tokenizer) -> None:
    session = small.session(errors="replace")
    session.append("a\ud83d")
    session.append("\ude00b")
    whole = small.encode("a\ud83d\ude00b", errors="replace")
    assert session.ids.tolist() == whole.tolist()


def test_replace_tail_in_bytes_may_leave_half_a_character(small: Tokenizer) -> None:
    session = small.session()
    session.append("some words \u4e2d\u6587")
    session.replace_tail(1, b"", unit="byte")
    assert session.n_pending == 2
    session.append(b"\x87")
    assert session.text_bytes.decode() == "some words \u4e2d\u6587"
    session.replace_tail(4, b"\xad", unit="byte")
    assert session.ids.tolist() == small.encode("some words \u4e2d").tolist()
    with pytest.raises(OptionError, match="at most 12 characters, got 13"):
        session.replace_tail(13, "x")
    session.replace_tail(12, "")
    assert session.ids.tolist() == []


def test_text_that_a_call_refuses_leaves_the_session_as_it_was(small: Tokenizer) -> None:
    session = small.session(special_in_text="raise", max_bytes=100_000)
    session.append("hello world " * 4000 + "<")
    before = session.ids.tolist()
    with pytest.raises(SpecialTokenInText) as caught:
        session.append("s>")
    assert caught.value.offset == 48_000
    with pytest.raises(SpecialTokenInText):
        session.append("hello " * 5000 + "<s>")
    with pytest.raises(TextTooLong) as found:
        session.append("hello " * 9000)
    assert (found.value.size > found.value.limit, found.value.limit) == (True, 100_000)
    with pytest.raises(DeadlineExceeded):
        session.append("x", timeout=0)
    with pytest.raises(DeadlineExceeded):
        session.replace_tail(30_000, "x", timeout=0)
    with pytest.raises(SpecialTokenInText):
        session.replace_tail(30_000, "<s>")
    assert session.ids.tolist() == before
    assert session.n_bytes == 48_001
    session.append("b>")
    assert session.ids.tolist() == small.encode("hello world " * 4000 + "<b>").tolist()


def test_a_fork_goes_on_alone(small: Tokenizer) -> None:
    session = small.session()
    session.append("hello world " * 20_000)
    forks = [session.fork() for _ in range(50)]
    for i, fork in enumerate(forks):
        fork.replace_tail(i * 1000, f" number {i}")
    session.append("end")
    assert session.ids.tolist() == small.encode("hello world " * 20_000 + "end").tolist()
    for i, fork in enumerate(forks):
        text = "hello world " * 20_000
        assert (fork.ids == small.encode(text[: len(text) - i * 1000] + f" number {i}")).all()


def test_threads_wait_for_each_other(small: Tokenizer) -> None:
    session = small.session()
    part = "hello world, " * 2000

    def add() -> None:
        for _ in range(5):
            session.append(part)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (session.ids == small.encode(part * 20)).all()


def test_an_append_takes_time_for_the_tail_only(small: Tokenizer) -> None:
    import time

    session = small.session()
    session.append("hello world, and some more words. " * 120_000)
    times = []
    for i in range(200):
        begin = time.perf_counter()
        session.append(f" word number {i}" * 16)
        times.append(time.perf_counter() - begin)
    assert np.median(times) < 1e-3  # 3 us on a machine of 2026-11; the whole takes 20 ms
    assert session.memory < 3 * session.n_bytes + 4 * session.n_ids


@pytest.mark.parametrize("model_type", [1, 2])
def test_a_sentencepiece_model_is_exact_and_says_why_it_is_slow(
    tmp_path: Path, model_type: int
) -> None:
    choose = random.Random(model_type)  # noqa: S311
    path = tmp_path / "some.model"
    path.write_bytes(random_model(choose, model_type, b""))
    tokenizer = Tokenizer.load(path)
    session = tokenizer.session()
    assert not session.incremental
    assert session.reason
    text = ""
    for _ in range(30):
        part = random_text(choose)
        text += part
        session.append(part)
        assert session.ids.tolist() == tokenizer.encode(text).tolist()


@pytest.mark.slow
def test_no_cut_is_wrong_in_long_runs() -> None:
    for seed, kind in enumerate(KINDS):
        tokenizer = Tokenizer.load(KINDS[kind]())
        grow_at_random(tokenizer.ready.model, list(tokenizer.ready.meta["added_tokens"]), 150, seed)
    for seed, which in enumerate(MODELS):
        model = hostile_tokenizer(*which).ready.model
        grow_at_random(model, [content for content, *_ in TOKENS], 150, seed)
